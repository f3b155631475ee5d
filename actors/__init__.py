"""The worker root: `dramatiq actors` imports this package, and finds broker and actors declared.

This is the one module of the project that does work at import. It connects to nothing yet.
"""

from actors.worker import declare_all
from config import Settings

broker = declare_all(Settings.for_root())
