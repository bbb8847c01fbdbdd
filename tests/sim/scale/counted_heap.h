// How many bytes of the heap does each core have?
//
// The program's operator new remembers on whose account an allocation is, and who frees it
// gives it back to that account, whoever that is. Only for the program that this file is linked
// into; one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stage::sim {

/// 0 is nobody's.
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
