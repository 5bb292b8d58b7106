"""The paper's router on the device: ``many`` runs, and the ``steps`` of a ``large`` one."""
