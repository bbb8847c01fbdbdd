#include "tests/sim/mpi/mpi_world.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <utility>

namespace stage::sim {
namespace {

constexpr std::size_t kSegmentBytes = 1448;
/// The headers of a segment or packet: Ethernet with preamble and gap, IP, TCP with time
/// stamps. (UDP's is shorter by what its packets are sealed with.)
constexpr std::size_t kHeaderBytes = 90;
/// Between two calls: what was lost in the first has arrived.
constexpr Duration kBetweenCalls = std::chrono::seconds{4};

constexpr std::size_t kStackBytes = 256U << 10U;

/// The rank that runs: the code of MPI's callers names neither.
MpiWorld* world_here = nullptr;
int rank_here = 0;

}  // namespace

Duration MpiWorld::Call::last() const {
    return std::ranges::max(ended);
}

int MpiWorld::Call::most_hops() const {
    return std::ranges::max(hops);
}

MpiWorld::MpiWorld(int ranks, const MpiCosts& costs, std::uint64_t seed)
    : costs_{costs}, prng_{seed} {
    for (int rank = 0; rank < ranks; ++rank) {
        processes_.push_back(std::make_unique<Process>());
    }
}

// ---- who runs

bool MpiWorld::run(const std::function<void()>& program) {
    program_ = &program;
    for (std::uint64_t rank = 0; rank < processes_.size(); ++rank) {
        prepare(*processes_[rank]);
        events_.at<&MpiWorld::resume>({}, *this, rank);
    }
    while (!events_.is_empty()) {
        events_.step();
    }
    is_stuck_ = !std::ranges::all_of(processes_, [](const auto& one) { return one->is_over; });
    for (std::uint64_t rank = 0; rank < processes_.size(); ++rank) {
        if (!processes_[rank]->is_over) {
            resume(rank);
        }
    }
    return !is_stuck_;
}

/// What runs first is begin().
void MpiWorld::prepare(Process& process) {
    process.stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    invariant(::getcontext(&process.context) == 0, "a process has a context");
    process.context.uc_stack.ss_sp = process.stack.get();
    process.context.uc_stack.ss_size = kStackBytes;
    process.context.uc_link = &context_;
    ::makecontext(&process.context, &MpiWorld::begin, 0);
}

/// On a rank's own stack.
void MpiWorld::begin() {
    MpiWorld& world = here();
    try {
        (*world.program_)();
    } catch (const Stuck&) {  // The others shall end, too.
    }
    world.own().is_over = true;
}

MpiWorld& MpiWorld::here() {
    invariant(world_here != nullptr, "a rank runs in a world");
    return *world_here;
}

int MpiWorld::rank() const {
    return rank_here;
}

MpiWorld::Process& MpiWorld::own() {
    return *processes_[static_cast<std::size_t>(rank_here)];
}

void MpiWorld::resume(std::uint64_t rank) {
    world_here = this;
    rank_here = static_cast<int>(rank);
    invariant(::swapcontext(&context_, &processes_[rank]->context) == 0,
              "a context can be changed");
}

void MpiWorld::hand_over() {
    invariant(::swapcontext(&own().context, &context_) == 0, "a context can be changed");
    if (is_stuck_) {
        throw Stuck{};
    }
}

// ---- time

void MpiWorld::spend(Duration work) {
    own().busy_until = std::max(own().busy_until, events_.now()) + work;
}

void MpiWorld::pause(Duration time) {
    spend(time);
    events_.at<&MpiWorld::resume>(
        own().busy_until, *this, static_cast<std::uint64_t>(rank_here));
    hand_over();
}

void MpiWorld::poll() {
    if (!own().has_news) {
        own().is_polling = true;
        hand_over();
    }
    own().has_news = false;
    if (own().busy_until > events_.now()) {
        pause(Duration::zero());
    }
}

void MpiWorld::tell(int rank) {
    Process& process = *processes_[static_cast<std::size_t>(rank)];
    process.has_news = true;
    if (std::exchange(process.is_polling, false)) {
        events_.at<&MpiWorld::resume>(
            process.busy_until, *this, static_cast<std::uint64_t>(rank));
    }
}

void MpiWorld::begin_together(int source) {
    if (++together_ == size()) {
        begun_ = events_.now() + kBetweenCalls;
        for (const auto& process : processes_) {
            begun_ = std::max(begun_, process->busy_until);
            process->hops = -1;
        }
        processes_[static_cast<std::size_t>(source)]->hops = 0;
        for (std::uint64_t rank = 0; rank < processes_.size(); ++rank) {
            events_.at<&MpiWorld::resume>(begun_, *this, rank);
        }
        together_ = 0;
        calls_.push_back({.ended = std::vector<Duration>(processes_.size()),
                          .hops = std::vector<int>(processes_.size())});
    }
    hand_over();
}

void MpiWorld::end_call() {
    Call& call = calls_.back();
    call.ended[static_cast<std::size_t>(rank_here)] =
        std::max(own().busy_until, events_.now()) - begun_;
    call.hops[static_cast<std::size_t>(rank_here)] = own().hops;
}

// ---- requests

int MpiWorld::new_request(const Request& request) {
    const int number = own().next_request++;
    own().requests[number] = request;
    own().has_news = own().has_news || request.is_done;
    return number;
}

int MpiWorld::sent() {
    return new_request({.is_done = true});
}

int MpiWorld::barrier() {
    const int request = new_request({});
    in_barrier_.emplace_back(rank_here, request);
    if (in_barrier_.size() == processes_.size()) {
        for (const auto& [rank, number] : std::exchange(in_barrier_, {})) {
            processes_[static_cast<std::size_t>(rank)]->requests[number].is_done = true;
            tell(rank);
        }
    }
    return request;
}

int MpiWorld::receive(int from, MutableBytes room) {
    const int request = new_request({.room = room, .is_message = true});
    Channel& channel = channels_[{from, rank_here}];
    if (channel.kept.empty()) {
        channel.posted.push_back(request);
    } else {
        end(rank_here, request, channel.kept.front());
        channel.kept.pop_front();
    }
    return request;
}

void MpiWorld::end(int rank, int request, const Message& message) {
    Request& ended = processes_[static_cast<std::size_t>(rank)]->requests[request];
    invariant(message.bytes.size() <= ended.room.size(),
              "a message fits in its receiver's room");
    std::ranges::copy(message.bytes, ended.room.begin());
    ended.bytes = message.bytes.size();
    ended.hops = message.hops;
    ended.is_done = true;
    tell(rank);
}

std::optional<std::size_t> MpiWorld::finished(int request, bool is_taken) {
    const auto found = own().requests.find(request);
    if (!found->second.is_done) {
        return std::nullopt;
    }
    const Request done = found->second;
    own().requests.erase(found);
    if (done.is_message) {
        spend(costs_.receive);
    }
    if (done.is_message && is_taken && own().hops < 0) {
        own().hops = done.hops;
    }
    return done.bytes;
}

// ---- the network

void MpiWorld::send(int to, Bytes message) {
    spend(costs_.send);
    Channel& channel = channels_[{rank_here, to}];
    const std::size_t segments = (message.size() + kSegmentBytes - 1) / kSegmentBytes;
    channel.sent.push_back({.bytes = {message.begin(), message.end()},
                            .hops = own().hops + 1,
                            .segments = segments});
    std::size_t left = message.size();
    for (std::size_t i = 0; i < segments; ++i) {
        const std::size_t bytes = std::min(left, kSegmentBytes);
        left -= bytes;
        launch({.from = rank_here,
                .to = to,
                .wire_bytes = bytes,
                .delay = delay_of(i, segments),
                .message = &channel.sent.back()});
    }
    if (!calls_.empty()) {
        ++calls_.back().messages;
    }
}

/// A lost segment is repeated after a round trip if others follow it.
Duration MpiWorld::delay_of(std::size_t segment, std::size_t segments) {
    Duration delay{};
    Duration wait = segment + 1 < segments ? 4 * costs_.propagation
                    : segments > 1         ? costs_.probe
                                           : costs_.timeout;
    while (prng_.chance_ppm(costs_.loss_ppm)) {
        delay += wait;
        wait = std::max(2 * wait, costs_.timeout);
    }
    return delay;
}

void MpiWorld::multicast(const std::vector<std::vector<std::byte>>& packets) {
    spend(costs_.multicast);
    for (const std::vector<std::byte>& packet : packets) {
        spend(costs_.packet_out);
        launch({.from = rank_here,
                .wire_bytes = packet.size(),
                .packet = std::make_shared<const std::vector<std::byte>>(packet)});
    }
    if (!calls_.empty()) {
        calls_.back().packets += packets.size();
    }
}

std::optional<std::vector<std::byte>> MpiWorld::take_packet() {
    if (own().packets.empty()) {
        return std::nullopt;
    }
    spend(costs_.packet_in);
    const Packet packet = own().packets.front();
    own().packets.pop_front();
    return *packet;
}

void MpiWorld::has_from_multicast() {
    own().hops = 1;
}

void MpiWorld::launch(Flight flight) {
    const Instant left = own().up.pass(
        own().busy_until, time_of(flight.wire_bytes + kHeaderBytes, costs_.bytes_per_s));
    events_.at<&MpiWorld::reach_switch>(
        left + costs_.propagation, *this, flights_.park(std::move(flight)));
}

void MpiWorld::reach_switch(std::uint64_t index) {
    Flight flight = flights_.unpark(index);
    if (flight.message != nullptr) {
        forward(std::move(flight));
        return;
    }
    for (int rank = 0; rank < size(); ++rank) {
        if (rank != flight.from && !prng_.chance_ppm(costs_.loss_ppm)) {
            flight.to = rank;
            forward(flight);
        }
    }
}

void MpiWorld::forward(Flight flight) {
    const Instant left = processes_[static_cast<std::size_t>(flight.to)]->down.pass(
        events_.now(), time_of(flight.wire_bytes + kHeaderBytes, costs_.bytes_per_s));
    const Instant arrival = left + costs_.propagation + flight.delay;
    events_.at<&MpiWorld::arrive>(arrival, *this, flights_.park(std::move(flight)));
}

void MpiWorld::arrive(std::uint64_t index) {
    const Flight flight = flights_.unpark(index);
    if (flight.message != nullptr) {
        --flight.message->segments;
        deliver(flight.from, flight.to);
        return;
    }
    processes_[static_cast<std::size_t>(flight.to)]->packets.push_back(flight.packet);
    tell(flight.to);
}

/// Those that are whole, up to the first that is not.
void MpiWorld::deliver(int from, int to) {
    Channel& channel = channels_[{from, to}];
    while (!channel.sent.empty() && channel.sent.front().segments == 0) {
        if (channel.posted.empty()) {
            channel.kept.push_back(std::move(channel.sent.front()));
            tell(to);
        } else {
            end(to, channel.posted.front(), channel.sent.front());
            channel.posted.pop_front();
        }
        channel.sent.pop_front();
    }
}

}  // namespace stage::sim
