"""Several generations per prompt: score and sampling noise, prompt difficulty, broken prompts."""
