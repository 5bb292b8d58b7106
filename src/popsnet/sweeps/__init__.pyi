from .cluster import open_cluster as open_cluster
from .rescue import rescue as rescue
from .runner import collect as collect
from .runner import collect_traffic as collect_traffic
from .selection import Selection as Selection
from .store import Store as Store
from .sweep import Sweep as Sweep
from .verify import verify as verify
