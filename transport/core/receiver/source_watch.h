// Decides when a receiver gives the source up.
//
// While members are wired up the source may be busy with others; afterwards it sends OFFERs,
// and then data or keep-alive packets. Nothing is sent here.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/membership/ready_responder.h"

#include <optional>

namespace stage::core {

class SourceWatch {
  public:
    explicit SourceWatch(const CoreConfig& config);

    /// A packet of the source arrived.
    void on_heard(Instant now) { heard_at_ = now; }
    /// All members listen from now on.
    void on_all_listen(Instant now) { all_listen_at_ = now; }

    /// The source was silent for too long. The error (Blame::node) does not name it: if it
    /// fails, its own node reports that, and knows more.
    [[nodiscard]] std::optional<Error> poll(Instant now, Phase phase) const;
    /// When poll() has an error if the source stays silent; nothing if it is not awaited.
    [[nodiscard]] std::optional<Instant> deadline(Phase phase) const;

  private:
    [[nodiscard]] Instant wiring_deadline() const;

    Duration ready_timeout_;
    Duration stall_timeout_;
    Duration linger_;
    Instant heard_at_{};
    std::optional<Instant> all_listen_at_;
};

/// A member's answers do not reach the source, whose packets arrive here.
struct Unheard {
    Error why;
    bool is_sources_fault = false;  ///< The source hears no member at all.
};
/// Within stall_timeout of the first answer.
[[nodiscard]] std::optional<Unheard> find_unheard(const ReadyResponder& ready,
                                                  const CoreConfig& config);

}  // namespace stage::core
