// The core of a receiver.
//
// It answers OFFERs, places every chunk that it hears, requests missing chunks from peers,
// answers their requests, verifies and stores complete blocks, reports by DONE that it holds
// the object, and stays until RELEASE. Each of these is a part of its own; this file composes
// them.
//
// A core starts at its first on_*: until then deadline() has long passed.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"

#include <memory>

namespace stage::core {

class Receiver {
  public:
    /// Requires config.own != config.source. `prng` must outlive this.
    Receiver(const CoreConfig& config, Prng& prng, Limits limits = {});
    Receiver(Receiver&&) noexcept;
    Receiver& operator=(Receiver&&) = delete;
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;
    ~Receiver();

    void on_datagrams(Instant now, std::span<const Datagram> datagrams);
    void on_done(Instant now, std::span<const Completion> completions);
    void on_time(Instant now);
    void on_abort(Instant now, const Error& why);
    void on_all_listen(Instant now);
    void next_sends(Instant now, SendBatch& sends);
    void next_operations(Instant now, OperationBatch& operations);
    [[nodiscard]] std::optional<Instant> deadline() const;
    [[nodiscard]] const Outcome& outcome() const;

  private:
    /// One receiver's part with packets of one size; made anew if the size changes.
    struct Reception;

    void fall_back_to_small_packets(Instant now);

    Prng& prng_;
    std::unique_ptr<Reception> reception_;
};

static_assert(ProtocolCore<Receiver>);

}  // namespace stage::core
