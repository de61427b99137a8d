"""Logic verified by Z3: does a step follow from the premises it cites?"""
