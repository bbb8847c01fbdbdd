#include "transport/core/relay/relay_children.h"

#include "transport/core/base/object_shape.h"

#include <algorithm>
#include <utility>

namespace stage::core {
namespace {

constexpr std::size_t kLoadsMax = 4;
/// A child requests far fewer; a broken one gets no more.
constexpr std::size_t kWantedMax = 1024;
/// A DATA packet carries 16 bits of its number. A child that was sent nothing for this many
/// numbers needs a control packet, which carries all of them, first.
constexpr std::uint64_t kNumberGapMax = 1U << 14U;

}  // namespace

RelayChildren::RelayChildren(const CoreConfig& config,
                             Flow flow,
                             const RelayLimits& limits,
                             const Holdings& holdings,
                             BufferPool& pool)
    : flow_{flow},
      limits_{limits},
      run_max_{std::clamp(limits.send_bytes_max / config.chunk_bytes, 1U, 0xffffU)},
      holdings_{holdings},
      pool_{pool} {
}

void RelayChildren::tell(wire::PacketType type,
                         Rank child,
                         std::vector<std::byte> body,
                         ControlQueue& out) const {
    out.push(type, {.to_group = false, .peer = child, .flow = flow_}, std::move(body));
}

void RelayChildren::on_ready(Instant now, Rank child) {
    forget(child);  // What an earlier connection was to carry is requested again.
    children_[child].heard_at = now;
}

void RelayChildren::on_heard(Instant now, Rank child) {
    if (const auto found = children_.find(child); found != children_.end()) {
        found->second.heard_at = now;
    }
}

void RelayChildren::forgive(Instant now, Duration absence) {
    for (auto& [rank, child] : children_) {
        child.heard_at = std::min(child.heard_at + absence, now);
    }
}

void RelayChildren::expire(Instant now, Duration timeout, OperationQueue& operations) {
    for (auto next = children_.begin(); next != children_.end();) {
        const auto child = next++;
        if (now - child->second.heard_at > timeout) {
            operations.push_link(OperationKind::hang_up, {.peer = child->first, .flow = flow_});
            forget(child->first);
        }
    }
}

void RelayChildren::dismiss(OperationQueue& operations) {
    while (!children_.empty()) {
        const Rank child = children_.begin()->first;
        operations.push_link(OperationKind::hang_up, {.peer = child, .flow = flow_});
        forget(child);
    }
}

void RelayChildren::on_request(Rank child, const wire::Request& request, ControlQueue& out) {
    const auto found = children_.find(child);
    if (found == children_.end()) {
        return;
    }
    wire::Request lacking{.id = request.id, .runs = {}};
    for (const wire::ChunkRun& run : request.runs) {
        if (holdings_.is_absent(run.block) || found->second.wanted.size() >= kWantedMax) {
            lacking.runs.push_back(run);
            continue;
        }
        Child& asking = found->second;
        asking.wanted[run.block] = run.first;
        if (asking.current == run.block) {
            asking.is_described = false;  // It may have forgotten the descriptor.
        }
        requested_below_ = std::max(requested_below_, run.block.value() + 1);
    }
    if (!lacking.runs.empty()) {
        tell(wire::PacketType::lacking, child, wire::write(lacking), out);
    }
}

/// Tells each child of one wanted block that is absent here: that makes the child leave.
void RelayChildren::on_begun(ControlQueue& out) {
    for (auto& [rank, child] : children_) {
        const auto absent = std::ranges::find_if(
            child.wanted, [this](const auto& each) { return holdings_.is_absent(each.first); });
        if (absent != child.wanted.end()) {
            tell_lacking(rank, absent->first, absent->second, out);
            child.wanted.erase(absent);
        }
    }
}

void RelayChildren::tell_lacking(Rank child,
                                 BlockIndex block,
                                 std::uint32_t chunk,
                                 ControlQueue& out) const {
    const wire::ChunkRun run{
        .block = block, .first = static_cast<std::uint16_t>(chunk), .count = 1};
    tell(wire::PacketType::lacking,
         child,
         wire::write(wire::Request{.id = 0, .runs = {run}}),
         out);
}

void RelayChildren::on_link(Instant now, const LinkEvent& event) {
    const auto found = children_.find(event.peer);
    if (found == children_.end()) {
        return;
    }
    if (event.kind == LinkEvent::Kind::ready) {
        found->second.is_ready = true;
        round_trip_ = std::max(round_trip_, event.round_trip);
    } else {
        has_lost_ = has_lost_ || is_stopped_;
        lost_at_ = now;
        forget(event.peer);
    }
}

void RelayChildren::on_pulse(Rank child, const wire::Pulse& pulse) {
    if (const auto found = children_.find(child); found != children_.end()) {
        found->second.blocks_held = pulse.packets;
        found->second.joined = pulse.joined;
        found->second.has_said = true;
        std::uint64_t& most = gained_[child];
        most = std::max(most, pulse.gained);
    }
}

bool RelayChildren::add_joined(RankSet& joined) const {
    bool is_known = true;
    for (const auto& [rank, child] : children_) {
        joined.add(rank);
        joined.add(child.joined);
        is_known = is_known && !(child.has_said && child.joined.empty());
    }
    return is_known;
}

std::uint32_t RelayChildren::blocks_held() const {
    std::uint32_t sum = 0;
    for (const auto& [rank, child] : children_) {
        sum += child.blocks_held;
    }
    return sum;
}

std::uint64_t RelayChildren::gained() const {
    std::uint64_t sum = 0;
    for (const auto& [rank, most] : gained_) {
        sum += most;
    }
    return sum;
}

std::optional<BlockIndex> RelayChildren::front() const {
    std::optional<BlockIndex> furthest;
    for (const auto& [rank, child] : children_) {
        if (child.wanted.empty()) {
            return std::nullopt;
        }
        const BlockIndex first = child.wanted.begin()->first;
        furthest = std::max(furthest.value_or(first), first);
    }
    return furthest;
}

void RelayChildren::forget(Rank child) {
    if (const auto found = children_.find(child); found != children_.end()) {
        leave_block(found->second);
        children_.erase(found);
    }
}

void RelayChildren::leave_block(Child& child) {
    if (child.current) {
        pool_.unpin(*child.current);
        child.current.reset();
        child.is_described = false;
    }
}

void RelayChildren::stop(Instant now) {
    is_stopped_ = true;
    const Duration way_here = limits_.end_timeout + limits_.round_trips * round_trip_;
    has_lost_ = has_lost_ || (lost_at_ && now - *lost_at_ < way_here);
    for (auto& [rank, child] : children_) {
        leave_block(child);
        child.wanted.clear();
    }
}

void RelayChildren::order_loads(OperationQueue& operations, std::uint64_t& next_ticket) {
    for (const auto& [rank, child] : children_) {
        if (child.wanted.empty() || !child.is_ready || loading_.size() >= kLoadsMax) {
            continue;
        }
        const BlockIndex block = child.wanted.begin()->first;
        if (!holdings_.can_load(block) || !pool_.admit(block, operations)) {
            continue;
        }
        Operation load;
        load.kind = OperationKind::load;
        load.ticket = Ticket{next_ticket++};
        load.block = block;
        operations.push_back(load);
        loading_.push_back(block);
    }
}

bool RelayChildren::wants_loads() const {
    return loading_.size() < kLoadsMax && pool_.has_room() &&
           std::ranges::any_of(children_, [this](const auto& each) {
               const auto& wanted = each.second.wanted;
               return each.second.is_ready && !wanted.empty() &&
                      holdings_.can_load(wanted.begin()->first);
           });
}

void RelayChildren::on_loaded(BlockIndex block, bool is_good, ControlQueue& out) {
    std::erase(loading_, block);
    if (is_good) {
        return;
    }
    for (auto& [rank, child] : children_) {
        if (const auto found = child.wanted.find(block); found != child.wanted.end()) {
            tell_lacking(rank, block, found->second, out);
            child.wanted.erase(found);
            if (child.current == block) {
                leave_block(child);
            }
        }
    }
}

/// True if the block's descriptor is all that there is to send.
bool RelayChildren::is_hole(BlockIndex block) const {
    return holdings_.chunks(block) == 0 && !holdings_.describe(block, 1).empty();
}

bool RelayChildren::is_here(BlockIndex block) const {
    return pool_.contains(block) || is_hole(block);
}

/// The chunk is in memory; or the block is, and has no such chunk: all of it was sent.
bool RelayChildren::can_serve(BlockIndex block, std::uint32_t chunk) const {
    return is_here(block) && !holdings_.describe(block, 1).empty() &&
           (holdings_.has(block, chunk) || chunk >= holdings_.chunks(block));
}

std::optional<BlockIndex> RelayChildren::next_of(const Child& child) const {
    for (const auto& [block, chunk] : child.wanted) {
        if (can_serve(block, chunk)) {
            return block;
        }
    }
    return std::nullopt;
}

bool RelayChildren::can_send(const Child& child) const {
    if (!child.is_ready) {
        return false;
    }
    if (!child.current || !is_here(*child.current)) {
        return next_of(child).has_value();
    }
    return can_serve(*child.current, child.wanted.at(*child.current));
}

bool RelayChildren::can_send() const {
    return std::ranges::any_of(children_,
                               [this](const auto& each) { return can_send(each.second); });
}

void RelayChildren::fill(SendBatch& batch, Numbering& numbers) {
    for (auto& [rank, child] : children_) {
        while (!batch.full() && child.is_ready && serve(rank, child, batch, numbers)) {
        }
    }
}

/// Sends a run of the child's current block, or of the next one. False if there is nothing to
/// send.
bool RelayChildren::serve(Rank rank, Child& child, SendBatch& batch, Numbering& numbers) {
    if (child.current && !is_here(*child.current)) {
        leave_block(child);  // Its digest was wrong: it starts again.
    }
    if (!child.current) {
        child.current = next_of(child);
        if (!child.current) {
            return false;
        }
        if (pool_.contains(*child.current)) {
            pool_.pin(*child.current);
            pool_.touch(*child.current);
        }
    }
    const BlockIndex block = *child.current;
    if (!can_serve(block, child.wanted.at(block))) {
        return false;
    }
    if (!child.is_described || child.last_number + kNumberGapMax < numbers.last()) {
        describe(rank, child, batch, numbers);
    }
    const std::uint32_t sent = send_run(rank, child, batch, numbers);
    child.wanted[block] += sent;
    child.is_ready = sent == 0;
    child.last_number = numbers.last();
    if (child.wanted[block] >= holdings_.chunks(block)) {
        child.wanted.erase(block);
        leave_block(child);
    }
    return true;
}

void RelayChildren::describe(Rank rank, Child& child, SendBatch& batch, Numbering& numbers) {
    Send send;
    send.type = wire::PacketType::describe;
    send.to = {.to_group = false, .peer = rank, .flow = flow_};
    send.packet_number = numbers.take(1);
    send.body = holdings_.describe(*child.current, 1);
    batch.sends.push_back(std::move(send));
    ++batch.packets;
    child.is_described = true;
}

/// The number of chunks sent.
std::uint32_t RelayChildren::send_run(Rank rank,
                                      Child& child,
                                      SendBatch& batch,
                                      Numbering& numbers) {
    const BlockIndex block = *child.current;
    const std::uint32_t first = child.wanted.at(block);
    const std::uint32_t end = std::min(first + run_max_, holdings_.chunks(block));
    std::uint32_t count = 0;
    while (first + count < end && holdings_.has(block, first + count)) {
        ++count;
    }
    if (count == 0) {
        return 0;
    }
    Send send;
    send.to = {.to_group = false, .peer = rank, .flow = flow_};
    send.packet_number = numbers.take(count);
    send.block = block;
    send.first = ChunkIndex{static_cast<std::uint16_t>(first)};
    send.count = static_cast<std::uint16_t>(count);
    batch.sends.push_back(std::move(send));
    batch.packets += count;
    return count;
}

void RelayChildren::tell_all(wire::PacketType type,
                             const std::vector<std::byte>& body,
                             ControlQueue& out) const {
    for (const auto& [rank, child] : children_) {
        tell(type, rank, body, out);
    }
}

void RelayChildren::tell_pulse(const wire::Pulse& pulse, ControlQueue& out) const {
    const std::vector<std::byte> body = wire::write(pulse);
    for (const auto& [rank, child] : children_) {
        const bool awaits = child.is_ready && !child.wanted.empty() && !can_send(child);
        out.push(wire::PacketType::pulse,
                 {.to_group = false, .peer = rank, .flow = flow_},
                 body,
                 awaits ? std::uint8_t{wire::kFlagAwaits} : std::uint8_t{0});
    }
}

}  // namespace stage::core
