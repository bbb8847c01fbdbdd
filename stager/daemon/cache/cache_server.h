// Sends files of this node's cache to other nodes that ask for them.
//
// A node sends FETCH; FOUND answers with what the cache has and with a fresh key; on TAKE the
// connection goes to a process of its own, which becomes the user nobody and sends the file
// (cache/copier.h). The daemon reads none of the file.
#pragma once

#include "stager/cache/copier.h"
#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <map>
#include <memory>

namespace stage {

class NodeCache;

/// Files that are sent to other nodes at one time; one more node is asked to retry later.
inline constexpr std::size_t kTransfersMax = 16;

/// Nodes that have asked and not yet closed the connection; one more is disconnected.
inline constexpr std::size_t kFetchersMax = 256;

class CacheServer {
  public:
    /// Both arguments outlive the object.
    CacheServer(const Basics& basics, NodeCache& cache) : basics_{basics}, cache_{cache} {}
    CacheServer(const CacheServer&) = delete;
    CacheServer& operator=(const CacheServer&) = delete;
    ~CacheServer();

    void on_fetch(const FetchMessage& message, std::unique_ptr<DrivenLink> link);

  private:
    struct Transfer {
        std::unique_ptr<DrivenLink> link;
        CopyOrder order;
        UniqueFd file;
        UniqueFd copier;  ///< Set when it sends.
        pid_t pid = -1;
        std::unique_ptr<Alarm> limit;
    };
    using Transfers = std::map<std::uint64_t, Transfer>;

    [[nodiscard]] std::size_t sending_count() const;
    void on_change(std::uint64_t id);
    void on_take(std::uint64_t id);
    [[nodiscard]] Status begin_sending(std::uint64_t id, Transfer& transfer, UniqueFd socket);
    void remove(std::uint64_t id);

    const Basics& basics_;
    NodeCache& cache_;
    Transfers transfers_;
    std::uint64_t last_ = 0;
};

}  // namespace stage
