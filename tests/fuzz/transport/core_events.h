// Encodes seeds for a driven core.
//
// As driven_core.h reads it: what happens, one event after the other.
#pragma once

#include "tests/fuzz/transport/driven_config.h"

namespace stage {

class CoreEvents {
  public:
    /// `blocks` as the target reads it; `how`: the bits of the configuration.
    CoreEvents(std::uint8_t blocks, std::uint8_t how, std::uint16_t own) : own_{own} {
        out_.u8(blocks).u8(how);
    }

    CoreEvents& packet(wire::PacketType type,
                       std::uint16_t from,
                       bool to_group,
                       const std::vector<std::byte>& body) {
        head(type, 0, from, to_group);
        put_piece(out_, text_of(body));
        return *this;
    }
    /// To the group, or by `from`, if that is not the source, alone.
    CoreEvents& data(std::uint8_t block,
                     std::uint8_t chunk,
                     std::uint16_t bytes,
                     std::uint16_t from = 0) {
        head(wire::PacketType::data, 8, from, from == 0);
        out_.u8(block).u8(chunk).u16(bytes);
        return *this;
    }
    /// What follows comes by this stripe's connections; 0 or 1.
    CoreEvents& by_stripe(std::uint8_t stripe) {
        stripe_ = stripe;
        return *this;
    }
    /// The connection to a member stands and takes packets, or ended.
    CoreEvents& link(LinkEvent::Kind kind, std::uint16_t peer) {
        const unsigned members = kDrivenMembers;
        const unsigned after = (peer + members - own_ - 1U) % members;
        const unsigned how =
            128U * stripe_ + 8U * after + (kind == LinkEvent::Kind::closed ? 7U : 0U);
        out_.u8(7).u8(static_cast<std::uint8_t>(how));
        return *this;
    }
    /// What its disk was asked for first is done.
    CoreEvents& done() {
        out_.u8(3).u8(0);
        return *this;
    }
    CoreEvents& wait(std::uint8_t tenths) {
        out_.u8(5).u8(tenths);
        return *this;
    }
    CoreEvents& due(int times) {
        for (; times > 0; --times) {
            out_.u8(6);
        }
        return *this;
    }
    CoreEvents& abort() {
        out_.u8(255);
        return *this;
    }
    [[nodiscard]] std::vector<std::byte> bytes() const { return owned(out_.view()); }

  private:
    void head(wire::PacketType type, std::uint8_t flags, std::uint16_t from, bool to_group) {
        const unsigned members = kDrivenMembers;
        const unsigned other = (from + members - own_ - 1U) % members;
        out_.u8(0).u8(static_cast<std::uint8_t>((static_cast<unsigned>(type) - 1U) |
                                                (static_cast<unsigned>(flags) << 4U)));
        out_.u8(static_cast<std::uint8_t>(other + (to_group ? 0U : 64U) + 128U * stripe_));
    }

    std::uint16_t own_;
    std::uint8_t stripe_ = 0;
    ByteWriter out_;
};

}  // namespace stage
