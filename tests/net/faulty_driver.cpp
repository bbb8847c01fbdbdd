#include "tests/net/faulty_driver.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace stage::test {
namespace {

Error misread(std::string_view part) {
    return {Blame::user, "this fault makes no sense: '" + std::string{part} + "'"};
}

}  // namespace

Result<Faults> read_faults(std::string_view text) {
    Faults faults;
    const std::array<std::pair<std::string_view, std::uint32_t*>, 6> names{{
        {"drop", &faults.drop_ppm},
        {"burst", &faults.burst_packets},
        {"duplicate", &faults.duplicate_ppm},
        {"corrupt", &faults.corrupt_ppm},
        {"reorder", &faults.reorder_ppm},
        {"hold", &faults.hold_packets},
    }};
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const std::size_t equals = std::min(part.find('='), part.size());
        const std::string_view number = part.substr(std::min(part.size(), equals + 1));
        std::uint32_t value = 0;
        const auto read = std::from_chars(number.begin(), number.end(), value);
        const auto* named = std::ranges::find(
            names, part.substr(0, equals), &std::pair<std::string_view, std::uint32_t*>::first);
        const bool is_seed = part.substr(0, equals) == "seed";
        if (read.ec != std::errc{} || read.ptr != number.end() ||
            (named == names.end() && !is_seed)) {
            return misread(part);
        }
        if (is_seed) {
            faults.seed = value;
        } else {
            *named->second = value;
        }
    }
    return faults;
}

/// Time passes for what is held, too, when nothing is sent any more.
Status FaultyDriver::receive(std::vector<ReceivedPacket>& packets, Readable readable) {
    release_held();
    if (auto sent = flush(); !sent) {
        return std::move(sent).error();
    }
    return inner_->receive(packets, readable);
}

Result<Sent> FaultyDriver::send(const Train& train) {
    auto before = flush();
    if (!before || *before == Sent::would_block) {
        return before;
    }
    std::vector<std::byte> whole;
    for (const Bytes piece : train.pieces) {
        whole.insert(whole.end(), piece.begin(), piece.end());
    }
    for (Bytes rest = whole; !rest.empty();) {
        const Bytes one = rest.first(std::min<std::size_t>(train.packet_bytes, rest.size()));
        decide({.target = train.target, .bytes = {one.begin(), one.end()}});
        rest = rest.subspan(one.size());
    }
    auto sent = flush();
    return sent ? Result<Sent>{Sent::all} : std::move(sent);
}

void FaultyDriver::decide(Packet packet) {
    ++done_.offered;
    release_held();
    if (losing_ == 0 && prng_.chance_ppm(faults_.drop_ppm)) {
        losing_ = std::max(faults_.burst_packets, 1U);
    }
    if (losing_ > 0) {
        --losing_;
        ++done_.dropped;
        return;
    }
    if (prng_.chance_ppm(faults_.corrupt_ppm)) {
        const std::uint64_t bit = prng_.below(packet.bytes.size() * 8);
        packet.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        ++done_.corrupted;
    }
    if (prng_.chance_ppm(faults_.duplicate_ppm)) {
        ready_.push_back(packet);
        ++done_.duplicated;
    }
    if (prng_.chance_ppm(faults_.reorder_ppm)) {
        packet.hold = std::max(faults_.hold_packets, 1U);
        held_.push_back(std::move(packet));
        ++done_.reordered;
        return;
    }
    ready_.push_back(std::move(packet));
}

void FaultyDriver::release_held() {
    for (Packet& packet : held_) {
        --packet.hold;
    }
    while (!held_.empty() && held_.front().hold == 0) {
        ready_.push_back(std::move(held_.front()));
        held_.pop_front();
    }
}

Result<Sent> FaultyDriver::flush() {
    while (!ready_.empty()) {
        const Packet& packet = ready_.front();
        const Bytes piece = packet.bytes;
        auto sent = inner_->send({.target = packet.target,
                                  .pieces = {&piece, 1},
                                  .bytes = piece.size(),
                                  .packet_bytes = static_cast<std::uint32_t>(piece.size())});
        if (!sent || *sent == Sent::would_block) {
            return sent;
        }
        ready_.pop_front();
    }
    return Sent::all;
}

}  // namespace stage::test
