// Counts the heap bytes of each core.
//
// The program's operator new remembers the account of each allocation, and freeing it credits
// that account, whichever core does so. Only for the program that this file is linked into; one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stage::sim {

/// 0 belongs to no core.
using Account = std::uint32_t;
inline constexpr Account kAccountsMax = 1U << 16U;

/// From now on allocations are on this account, until the end of its scope.
class OnAccount {
  public:
    explicit OnAccount(Account account);
    OnAccount(const OnAccount&) = delete;
    OnAccount& operator=(const OnAccount&) = delete;
    ~OnAccount();

  private:
    Account before_;
};

struct HeapUse {
    std::int64_t now = 0;   ///< Bytes, as they were asked for.
    std::int64_t most = 0;  ///< At any time.
};
[[nodiscard]] HeapUse heap_use(Account account);

}  // namespace stage::sim
