"""How long a number of runs will still take: as long as others of their kind took."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean


@dataclass
class Remaining:
    """Counts finished runs, and estimates the time for the others."""

    jobs: int
    """Runs at a time."""
    left: dict[str, int]
    """By kind: how many runs are not finished."""
    taken_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, jobs: int, kinds: Iterable[str]) -> "Remaining":
        """Begin with every run's kind; runs of a kind take about as long."""
        left: dict[str, int] = defaultdict(int)
        for kind in kinds:
            left[kind] += 1
        return cls(max(1, jobs), left)

    def finish(self, kind: str, seconds: float | None) -> float | None:
        """Count a finished run; without seconds it was kept from before."""
        self.left[kind] -= 1
        if seconds is not None:
            self.taken_s[kind].append(seconds)
        if not self.taken_s:
            return None
        usual_s = fmean(each for times in self.taken_s.values() for each in times)
        each_s = {name: fmean(times) for name, times in self.taken_s.items()}
        runs = ((each_s.get(name, usual_s), count) for name, count in self.left.items())
        return sum(seconds * count for seconds, count in runs) / self.jobs
