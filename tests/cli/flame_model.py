# SPDX-License-Identifier: Apache-2.0
"""Flame graphs as they should be, worked out from folded stacks in the plainest way.

A stack is a list of frames, root first, each with the mark of its kind ("read_[k]"). Frames that are
drawn: (depth, name without the mark, start, width). Widths and starts are in samples.
"""
import re
from collections import defaultdict

MARK = re.compile(r"_\[[kji]\]$")


def bare(frame):
    return MARK.sub("", frame)


def parse(data):
    """[(stack, count)] in the order of the lines."""
    stacks = []
    for line in data.decode().splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks.append((stack.split(";"), int(count)))
    return stacks


def merged(stacks):
    """Frames of the merged graph: own samples first, then the children as sorted lines have them."""
    drawn = []

    def family(stacks, depth, start):
        children = defaultdict(list)
        for stack, count in stacks:
            if stack:
                children[stack[0]].append((stack[1:], count))
            else:
                start += count
        for frame in sorted(children, key=lambda f: (f + ";").encode()):
            width = sum(count for _, count in children[frame])
            drawn.append((depth, bare(frame), start, width))
            family(children[frame], depth + 1, start)
            start += width

    total = sum(count for _, count in stacks)
    drawn.append((0, "all", 0, total))
    family(stacks, 1, 0)
    return drawn


def in_order(stacks):
    """Frames of the chart: one after the other, only neighbours merge."""
    done, path, now = [], [], 0 # path: [frame, start] that are going on
    total = sum(count for _, count in stacks)

    def end(depth):
        while len(path) > depth:
            frame, start = path.pop()
            done.append((len(path) + 1, bare(frame), start, now - start))

    for stack, count in stacks:
        same = 0
        while same < min(len(path), len(stack)) and path[same][0] == stack[same]:
            same += 1
        end(same)
        path += [[frame, now] for frame in stack[same:]]
        now += count
    end(0)
    return [(0, "all", 0, total)] + done


def reverse(stacks):
    return [(stack[::-1], count) for stack, count in stacks]


def hide(stacks, expression):
    return [([f for f in s if not re.search(expression, bare(f))], n) for s, n in stacks]


def focus(stacks, expression):
    found = []
    for stack, count in stacks:
        at = [i for i, f in enumerate(stack) if re.search(expression, bare(f))]
        if at:
            found.append((stack[at[0]:], count))
    return found


def only(stacks, kernel):
    """Frames of the kernel or of user space, below the comm; what is inlined is where its caller is."""
    result = []
    for stack, count in stacks:
        kept, inside = stack[:1], False
        for frame in stack[1:]:
            if not frame.endswith("_[i]"):
                inside = frame.endswith("_[k]")
            if inside == kernel:
                kept.append(frame)
        result.append((kept, count))
    return result


def without_recursion(stacks):
    result = []
    for stack, count in stacks:
        kept = stack[:1]
        for i in range(1, len(stack)):
            if i == 1 or stack[i] != kept[-1]:
                kept.append(stack[i])
        result.append((kept, count))
    return result
