"""stub"""
class Unfollowable(Exception): pass
class Extensions:
    def __init__(self,*a): pass
    def install(self): pass
    def compile(self): pass
def software(): return []
