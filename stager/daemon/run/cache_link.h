// Connects a stage's worker with the node's cache.
//
// The worker is a process of the user, so the cache takes the uid from the stage, never from
// the worker's messages.
#pragma once

#include "stager/daemon/cache/node_cache.h"
#include "stager/messages/untrusted_fd.h"
#include "stager/messages/worker_setup.h"

#include <functional>

namespace stage {

class CacheLink {
  public:
    using Send = std::function<void(const ToWorker&, int file)>;

    /// `send` sends to the worker that the stage has at that time.
    CacheLink(NodeCache& cache, std::uint32_t uid, Send send)
        : cache_{cache}, uid_{uid}, send_{std::move(send)}, member_{cache.enter()} {}
    CacheLink(const CacheLink&) = delete;
    CacheLink& operator=(const CacheLink&) = delete;
    ~CacheLink() { cache_.leave(member_); }

    /// The stage is about to start another worker.
    void begin_anew() { cache_.begin_anew(member_); }
    void on_worker_ended() { cache_.broken_off(member_); }
    /// Handles the messages that are for the cache, and ignores all others.
    void on_message(const FromWorker& message, UntrustedFd file) {
        if (const auto* ask = std::get_if<WorkerAsk>(&message)) {
            cache_.ask(member_, uid_, *ask, send_);
        } else if (const auto* keep = std::get_if<WorkerKeep>(&message)) {
            cache_.keep(member_, uid_, *keep, std::move(file));
        } else if (const auto* spoilt = std::get_if<WorkerSpoilt>(&message)) {
            if (const auto content = content_of_bytes(spoilt->content)) {
                cache_.drop({.uid = uid_, .content = *content});
            }
        } else if (const auto* seek = std::get_if<WorkerSeek>(&message)) {
            cache_.seek(member_, uid_, seek->stamp, send_);
        } else if (const auto* begun = std::get_if<WorkerBegun>(&message)) {
            cache_.begun(member_, uid_, *begun, std::move(file));
        } else if (const auto* outcome = std::get_if<WorkerOutcome>(&message)) {
            if (outcome->state != VerdictState::failed) {
                cache_.whole(member_);
            }
        }
    }

  private:
    NodeCache& cache_;
    std::uint32_t uid_;
    Send send_;
    NodeCache::Member member_;
};

}  // namespace stage
