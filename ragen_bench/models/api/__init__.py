"""`openai/NAME`: any server that speaks OpenAI's chat protocol."""
