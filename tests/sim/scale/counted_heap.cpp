#include "tests/sim/scale/counted_heap.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>

namespace stage::sim {
namespace {

/// Before each allocation, as long as the strictest alignment.
struct alignas(std::max_align_t) Label {
    std::size_t bytes;
    Account account;
};

struct Ledger {
    std::array<HeapUse, kAccountsMax> accounts{};
    Account current = 0;
};
// It must be there before the first allocation and after the last.
constinit Ledger ledger;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void* allocate(std::size_t bytes) {
    auto* label = static_cast<Label*>(std::malloc(sizeof(Label) + bytes));  // NOLINT
    if (label == nullptr) {
        std::abort();
    }
    *label = {.bytes = bytes, .account = ledger.current};
    HeapUse& use = ledger.accounts[label->account];
    use.now += static_cast<std::int64_t>(bytes);
    use.most = std::max(use.most, use.now);
    return label + 1;
}

void give_back(void* memory) {
    if (memory != nullptr) {
        Label* label = static_cast<Label*>(memory) - 1;
        ledger.accounts[label->account].now -= static_cast<std::int64_t>(label->bytes);
        std::free(label);  // NOLINT
    }
}

}  // namespace

OnAccount::OnAccount(Account account) : before_{ledger.current} {
    ledger.current = account;
}

OnAccount::~OnAccount() {
    ledger.current = before_;
}

HeapUse heap_use(Account account) {
    return ledger.accounts[account];
}

}  // namespace stage::sim

void* operator new(std::size_t bytes) {
    return stage::sim::allocate(bytes);
}
void* operator new[](std::size_t bytes) {
    return stage::sim::allocate(bytes);
}
void operator delete(void* memory) noexcept {
    stage::sim::give_back(memory);
}
void operator delete[](void* memory) noexcept {
    stage::sim::give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    stage::sim::give_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    stage::sim::give_back(memory);
}
