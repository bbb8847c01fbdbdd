// Collects business cards through the process that started this one, instead of PMIx.
//
// Daemons carry cards above about a thousand nodes, where one PMIx Get per card would be the
// slowest part of the wire-up, and where another user has made a node's PMIx host unusable. A
// launcher without daemons always does. The card goes to the CardCarrier, and the table comes
// back through it.
#pragma once

#include "pmix/directory.h"

namespace stage {

/// Carries the cards: the worker's control socket, or its launcher's channel. Must outlive the
/// directory.
class CardCarrier {
  public:
    CardCarrier() = default;
    CardCarrier(const CardCarrier&) = delete;
    CardCarrier& operator=(const CardCarrier&) = delete;
    virtual ~CardCarrier() = default;

    /// Sends one encoded card.
    [[nodiscard]] virtual Status give(Bytes card) = 0;
    /// Waits at most `longest` for the table that encode_cards() or join_cards() made; in it
    /// the card may have got another rank. The carrier's own socket interrupts the wait.
    [[nodiscard]] virtual Result<std::vector<std::byte>> take(
        std::chrono::milliseconds longest) = 0;
};

class GivenDirectory final : public Directory {
  public:
    /// `size`: the number of cards that the table must have.
    GivenDirectory(CardCarrier& carrier, std::size_t size) : carrier_{carrier}, size_{size} {}

    [[nodiscard]] Status publish(const Card& own) override;
    [[nodiscard]] Result<CardTable> collect(const WaitLimit& wait_limit) override;

  private:
    CardCarrier& carrier_;
    std::size_t size_;
    Card own_;
};

}  // namespace stage
