// Exchanges the group's key and cards with the launcher that started this worker.
//
// The lines (pmix/launch_channel.h) go over stdin and stdout. Every wait has a limit, and ends
// when the launcher closes its end or the worker is interrupted.
#pragma once

#include "pmix/given_directory.h"
#include "stager/worker/broadcast/interrupts.h"
#include "transport/seal/keys.h"

#include <string>

namespace stage {

class LauncherChannel final : public CardCarrier {
  public:
    /// Reads from `input`, which it does not close. `interrupts` must outlive it.
    LauncherChannel(int input, Interrupts& interrupts)
        : input_{input}, interrupts_{interrupts} {}

    /// Waits at most `longest` for the key; the launcher writes it first.
    [[nodiscard]] Result<seal::GroupKey> key(std::chrono::milliseconds longest);

    [[nodiscard]] Status give(Bytes card) override;
    [[nodiscard]] Result<std::vector<std::byte>> take(
        std::chrono::milliseconds longest) override;

  private:
    [[nodiscard]] Result<std::string> line(std::chrono::milliseconds longest);
    [[nodiscard]] Status read_more();

    int input_;
    Interrupts& interrupts_;
    std::string text_;  ///< Read, and no whole line yet.
};

}  // namespace stage
