"""The reference trainer's engine: verl's TrainingWorker in one process, without Ray.

`ragen_starpo.engine.worker` has the models. verl, whose import takes seconds, is imported when the
first model is made.
"""
