"""Sessions with neighbours: who calls, who is let in, what is said and what is heard.

`neighbourhood` (Neighbourhood, Acquaintance), `admission` (Admission, Agreement),
`rehearsal` (check).
"""
