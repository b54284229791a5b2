"""Studies of a table of rows: how much would each site gain by collaborating?

- `study`: `colme.study`, and the experiment behind it; `feeds`: what sites are fed
- `findings`: who gains; `result`, `page`, `words`, `figures`: how it is told
"""
