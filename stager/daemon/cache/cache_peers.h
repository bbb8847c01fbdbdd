// What does a node's cache want of the other nodes'?
//
// Before a file is read: has another node it, or does one read it just now?
#pragma once

#include "stager/cache/leases.h"

namespace stage {

class CachePeers {
  public:
    CachePeers() = default;
    CachePeers(const CachePeers&) = delete;
    CachePeers& operator=(const CachePeers&) = delete;
    virtual ~CachePeers() = default;

    /// "Who reads it?" Later, from the loop, comes NodeCache::on_turn(), or take_in(). A stage
    /// that others wait for may not wait for a reader.
    virtual void ask(const LeasedFile& file, bool may_wait) = 0;
    /// What take_in() began came to nothing: what else?
    virtual void missed(const LeasedFile& file) = 0;
    /// No stage of this node asks any more; and whether its cache has the file.
    virtual void settle(const LeasedFile& file, bool is_here) = 0;
};

}  // namespace stage
