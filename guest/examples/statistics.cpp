// Collectives, in C++: mean and extremes of numbers that lie on all nodes.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "messaging/collectives.h"
#include "narthex.h"

int main() {
    // Node 0 decides how many numbers there are, and tells the others.
    int count = narthex_node() == 0 ? 1000 : 0;
    narthex_broadcast(0, &count, sizeof count);

    std::vector<double> numbers;
    for (int index = narthex_node(); index < count; index += narthex_nodes())
        numbers.push_back((index * 7 + 3) % count);

    double sum = 0;
    for (double number : numbers)
        sum += number;
    double largest = *std::max_element(numbers.begin(), numbers.end());
    narthex_all_reduce(&sum, 1, NARTHEX_DOUBLE, NARTHEX_SUM);
    narthex_reduce(0, &largest, 1, NARTHEX_DOUBLE, NARTHEX_MAXIMUM);
    if (narthex_node() == 0)
        std::printf("mean %.1f, largest %.0f\n", sum / count, largest);
    narthex_barrier();
    return 0;
}
