// Lets a node's cache ask other nodes for a file.
//
// It is asked before a file is read from its source: another node may have the file, or may be
// reading it just now.
#pragma once

#include "stager/cache/leases.h"

namespace stage {

class CachePeers {
  public:
    CachePeers() = default;
    CachePeers(const CachePeers&) = delete;
    CachePeers& operator=(const CachePeers&) = delete;
    virtual ~CachePeers() = default;

    /// Asks which node reads the file. Later the loop calls NodeCache::on_turn() or take_in().
    /// `may_wait` is false for a stage that others wait for: it must not wait for a reader.
    virtual void ask(const LeasedFile& file, bool may_wait) = 0;
    /// The fetch that take_in() began has failed; asks again.
    virtual void missed(const LeasedFile& file) = 0;
    /// No stage of this node needs the file any more; `is_here`: this node's cache has it.
    virtual void settle(const LeasedFile& file, bool is_here) = 0;
};

}  // namespace stage
