// How are cards collected when PMIx is not asked?
//
// The daemons carry them over their own tree: past about a thousand nodes, where a Get for each
// card would be the slowest part of the wire-up, and where a node's PMIx host was wedged by a
// stranger. The card goes to whoever holds the other end (CardCarrier) and the table comes
// back.
#pragma once

#include "pmix/directory.h"

namespace stage {

/// Who carries: the worker's control socket. Must outlive the directory.
class CardCarrier {
  public:
    CardCarrier() = default;
    CardCarrier(const CardCarrier&) = delete;
    CardCarrier& operator=(const CardCarrier&) = delete;
    virtual ~CardCarrier() = default;

    /// Hands one encoded card over.
    [[nodiscard]] virtual Status give(Bytes card) = 0;
    /// Waits for the table, as encode_cards() or join_cards() made it. Keeps `longest` itself;
    /// its own socket is what interrupts it.
    [[nodiscard]] virtual Result<std::vector<std::byte>> take(
        std::chrono::milliseconds longest) = 0;
};

class GivenDirectory final : public Directory {
  public:
    /// `size`: how many cards the table must have.
    GivenDirectory(CardCarrier& carrier, std::size_t size) : carrier_{carrier}, size_{size} {}

    [[nodiscard]] Status publish(const Card& own) override;
    [[nodiscard]] Result<CardTable> collect(const Patience& patience) override;

  private:
    CardCarrier& carrier_;
    std::size_t size_;
    Card own_;
};

}  // namespace stage
