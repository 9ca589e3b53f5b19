"""How well texts can be read on colours, as WCAG 2 defines it."""


def contrast(one, other):
    """Return the ratio that WCAG 2 defines."""
    lights = sorted(map(luminance, (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def blended(colour, surface, opacity):
    """Return what is seen of a colour on a surface."""
    parts = [(int(colour[i : i + 2], 16), int(surface[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * one + (1 - opacity) * on):02x}" for one, on in parts)
