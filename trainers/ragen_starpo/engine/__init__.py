"""The reference trainer's engine: verl's TrainingWorker in one process, without Ray.

`ragen_starpo.engine.worker` has what trains. Nothing here imports verl before the first worker is
made, which takes seconds.
"""
