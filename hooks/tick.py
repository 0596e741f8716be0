"""What a harness runs at every event of a session: ``python -I -S tick.py CLIENT``, the event on standard input. See asking.py."""

import sys

sys.path.insert(0, __file__.rpartition("/")[0])

from asking import main

sys.exit(main())
