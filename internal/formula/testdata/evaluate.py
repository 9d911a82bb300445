"""Evaluates formulas as Python does, one JSON object a line: {"src", "env"}.

Prints the repr of each value, or "error" where a formula must fail although
Python goes on: integers beyond 64 bits, and floats that are not finite.
"""

import ast
import json
import math
import operator
import sys


class Fails(Exception):
    pass


def checked(value):
    if isinstance(value, complex):
        raise Fails
    if isinstance(value, float) and not math.isfinite(value):
        raise Fails
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise Fails
    return value


def shift_left(a, b):
    # Python would try to make a number of that many bits.
    if b > 64 and a != 0:
        raise Fails
    return a << min(b, 64)


def power(a, b):
    if type(a) is type(b) is int and abs(a) > 1 and b > 64:
        raise Fails
    return a**b


def ceildiv(a, b):
    return -(-a // b)


def round_up(a, multiple):
    if multiple < 1:
        raise Fails
    return ceildiv(a, multiple) * multiple


def next_pow2(a):
    return 1 << (a - 1).bit_length() if a > 1 else 1


FUNCTIONS = {
    "abs": abs, "ceil": math.ceil, "ceildiv": ceildiv, "cos": math.cos, "erf": math.erf, "exp": math.exp,
    "float": float, "floor": math.floor, "gcd": math.gcd, "int": int, "log": math.log, "log2": math.log2,
    "max": lambda *args: max(args), "min": lambda *args: min(args),
    "next_pow2": next_pow2, "round_up": round_up, "sin": math.sin, "sqrt": math.sqrt, "tanh": math.tanh,
}
BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: power,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.BitAnd: operator.and_,
    ast.LShift: shift_left, ast.RShift: operator.rshift,
}
UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_}
COMPARE = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}


def evaluate(node, env):
    match node:
        case ast.Constant(value=value):
            return value  # 2**63 is checked with the minus before it
        case ast.Name(id=name):
            return env[name]
        case ast.UnaryOp(op=op, operand=x):
            return checked(UNARY[type(op)](evaluate(x, env)))
        case ast.BinOp(left=x, op=op, right=y):
            return checked(BINARY[type(op)](evaluate(x, env), evaluate(y, env)))
        case ast.BoolOp(op=op, values=values):
            for x in values:
                value = evaluate(x, env)
                if bool(value) == isinstance(op, ast.Or):
                    break
            return value
        case ast.Compare(left=left, ops=ops, comparators=rights):
            left = evaluate(left, env)
            for op, right in zip(ops, rights):
                right = evaluate(right, env)
                if not COMPARE[type(op)](left, right):
                    return False
                left = right
            return True
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return evaluate(body if evaluate(test, env) else orelse, env)
        case ast.Call(func=ast.Name(id=name), args=args):
            return checked(FUNCTIONS[name](*(evaluate(x, env) for x in args)))
    raise SyntaxError(ast.dump(node))


for line in sys.stdin:
    case = json.loads(line)
    try:
        print(repr(checked(evaluate(ast.parse(case["src"], mode="eval").body, case["env"]))))
    except (Fails, ZeroDivisionError, OverflowError, ValueError):
        print("error")
