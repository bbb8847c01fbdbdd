// The core of a source.
//
// It offers the object until every member has answered, multicasts every chunk once,
// retransmits what no peer can repair, answers requests like any holder, collects DONE, and
// multicasts RELEASE. Each of these is a part of its own; this file composes them.
//
// A core starts at its first on_*: until then deadline() has long passed.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"

#include <memory>

namespace stage::core {

class Sender {
  public:
    /// Requires shape.blocks >= 1 and config.own == config.source. `prng` must outlive this.
    Sender(const CoreConfig& config, const ObjectShape& shape, Prng& prng, Limits limits = {});
    Sender(Sender&&) noexcept;
    Sender& operator=(Sender&&) = delete;
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;
    ~Sender();

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
    /// The source's part with packets of one size; made anew if the size changes.
    struct Transmission;

    void work(Instant now);
    void fall_back_to_small_packets(Instant now);

    Prng& prng_;
    std::unique_ptr<Transmission> transmission_;
};

static_assert(ProtocolCore<Sender>);

}  // namespace stage::core
