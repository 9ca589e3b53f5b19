// A greeting travels around the ring of all nodes; each adds its number and passes it on.
#include <cstdio>
#include <vector>

#include "narthex.h"

namespace {

constexpr int greeting = 1;
std::vector<int> visited;
bool greeted = false;

void on_greeting(int, const void *payload, size_t bytes) {
    const int *first = static_cast<const int *>(payload);
    visited.assign(first, first + bytes / sizeof(int));
    greeted = true;
}

void pass_on() {
    visited.push_back(narthex_node());
    int next = (narthex_node() + 1) % narthex_nodes();
    narthex_send(next, greeting, visited.data(), visited.size() * sizeof(int));
}

} // namespace

int main() {
    narthex_register_handler(greeting, on_greeting);
    if (narthex_node() == 0)
        pass_on();
    while (!greeted)
        narthex_poll();
    if (narthex_node() == 0) {
        std::printf("hello from node 0: the greeting visited %zu nodes\n", visited.size());
    } else {
        std::printf("hello from node %d, after %zu others\n", narthex_node(), visited.size());
        pass_on();
    }
    narthex_barrier();
    return 0;
}
