// Another node wants a file that this one's cache may hold: how does it get it?
//
// FETCH came in; FOUND says what there is and draws a key; on TAKE the connection goes to a
// process of its own, which becomes nobody and sends the file (cache/copier.h). The daemon
// reads none of it.
#pragma once

#include "stager/cache/copier.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <map>
#include <memory>

namespace stage {

/// Files on their way to other nodes at one time; one more is told to ask again.
inline constexpr std::size_t kLoansMax = 16;

/// Whoever has asked, until it has hung up; one more is hung up on.
inline constexpr std::size_t kFetchersMax = 256;

class CacheServer {
  public:
    /// `services` outlives it.
    explicit CacheServer(Services& services) : services_{services} {}
    CacheServer(const CacheServer&) = delete;
    CacheServer& operator=(const CacheServer&) = delete;
    ~CacheServer();

    void on_fetch(const FetchMessage& message, std::unique_ptr<DrivenLink> link);

  private:
    struct Loan {
        std::unique_ptr<DrivenLink> link;
        CopyOrder order;
        UniqueFd file;
        UniqueFd copier;  ///< Once it sends.
        pid_t pid = -1;
        std::unique_ptr<Alarm> limit;
    };
    using Loans = std::map<std::uint64_t, Loan>;

    [[nodiscard]] std::size_t lent() const;
    void on_change(std::uint64_t id);
    void on_take(std::uint64_t id);
    [[nodiscard]] Status begin_sending(std::uint64_t id, Loan& loan, UniqueFd socket);
    void remove(std::uint64_t id);

    Services& services_;
    Loans loans_;
    std::uint64_t last_ = 0;
};

}  // namespace stage
