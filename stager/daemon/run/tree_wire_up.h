// Exchanges cards over the worker's own socket and the control tree.
#pragma once

#include "stager/daemon/run/wire_up.h"

#include <utility>

namespace stage {

class TreeWireUp final : public WireUp {
  public:
    /// `owner` outlives it.
    explicit TreeWireUp(WireUpOwner& owner) : owner_{owner} {}

    void begin() override { owner_.on_prepared({}); }
    void result(Collective kind,
                std::uint32_t /*sequence*/,
                std::vector<std::byte> bytes) override {
        if (kind == Collective::cards) {
            owner_.on_word(WorkerCards{std::move(bytes)});
        }
    }
    void on_card(std::vector<std::byte> card) override {
        if (!std::exchange(has_card_, true)) {
            owner_.on_part(Collective::cards, 0, std::move(card));
        }
    }

  private:
    WireUpOwner& owner_;
    bool has_card_ = false;
};

}  // namespace stage
