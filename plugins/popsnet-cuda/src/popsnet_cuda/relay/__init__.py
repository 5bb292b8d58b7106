"""relay on the device, for d = g: ``many`` runs, and the ``stages`` of a ``large`` one.

``places`` has the public bijections.
"""
