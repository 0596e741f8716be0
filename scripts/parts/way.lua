-- Who waits for whom, as a graph: agent -> agent -> why, and the request that waits. Bounded: detection may miss a circle, never make one up.
local MOST_AGENTS = 256

local function edge(graph, from, to, why, request)
    if from == to then return end
    graph[from] = graph[from] or {}
    graph[from][to] = graph[from][to] or {from = from, to = to, why = why, request = request}
end

-- The edges that lead from one agent to another, or nil. Depth first.
local function way(graph, from, to)
    local seen, budget = {}, MOST_AGENTS
    local function go(at)
        if at == to then return {} end
        if seen[at] or budget == 0 then return nil end
        seen[at], budget = true, budget - 1
        for other, found in pairs(graph[at] or {}) do
            local rest = go(other)
            if rest then
                table.insert(rest, 1, found)
                return rest
            end
        end
    end
    return go(from)
end
