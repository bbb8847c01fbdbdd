#include "transport/core/repair/repair_server.h"

#include "transport/core/base/object_shape.h"
#include "transport/core/base/repeater.h"

#include <algorithm>

namespace stage::core {
namespace {

/// Answers after a gap that state the whole packet number.
constexpr std::uint8_t kNumberStated = 3;

}  // namespace

RepairServer::RepairServer(const Limits& limits,
                           std::uint32_t chunk_bytes,
                           const Holdings& holdings,
                           BufferPool& pool)
    : limits_{limits.repair},
      packet_bytes_{chunk_bytes + kWireOverheadBytes},
      holdings_{holdings},
      pool_{pool} {
    loading_.reserve(limits_.loads_max);
    const std::uint32_t chunks_max = Cut{chunk_bytes}.chunks_max();
    for (std::size_t i = 0; i < limits_.jobs_max; ++i) {
        spare_.emplace_back(chunks_max);
    }
}

void RepairServer::on_request(Instant now,
                              Rank from,
                              const wire::Request& request,
                              ControlQueue& out) {
    wire::Request lacking{.id = request.id, .runs = {}};
    wire::Request busy{.id = request.id, .runs = {}};
    std::uint32_t budget = limits_.answer_chunks_max;
    for (const wire::ChunkRun& run : request.runs) {
        if (run.count == 0) {
            answer_descriptor(now, from, run, lacking, out);
            continue;
        }
        const Destination to{.to_group = false, .peer = from};
        const Enqueued enqueued =
            run.count <= budget ? enqueue(now, to, run, request.id) : Enqueued::no_room;
        if (enqueued == Enqueued::waits) {
            budget -= run.count;
            take_lacking(from, run, lacking);
        } else {
            (enqueued == Enqueued::absent ? lacking : busy).runs.push_back(run);
        }
    }
    push_lacking(from, lacking, false, out);
    push_lacking(from, busy, true, out);
}

void RepairServer::push_lacking(Rank to,
                                const wire::Request& body,
                                bool is_busy,
                                ControlQueue& out) {
    if (!body.runs.empty()) {
        wire::Request fitting = body;  // What has no room here times out.
        fitting.runs.resize(std::min(body.runs.size(), wire::kMaxRuns));
        out.push_peer(wire::PacketType::lacking,
                      to,
                      wire::write(fitting),
                      is_busy ? std::uint8_t{wire::kFlagBusy} : std::uint8_t{0});
    }
}

void RepairServer::answer_descriptor(Instant now,
                                     Rank from,
                                     const wire::ChunkRun& run,
                                     wire::Request& lacking,
                                     ControlQueue& out) {
    auto body = holdings_.describe(run.block, wire::kMaxDescriptors);
    if (!body.empty()) {
        out.push_peer(wire::PacketType::describe, from, std::move(body));
    } else if (!holdings_.is_described_by_load(run.block) ||
               !enqueue_descriptor(now, from, run.block, lacking.id)) {
        lacking.runs.push_back(run);
    }
}

/// The block is read back. Its first chunk goes with the answer.
bool RepairServer::enqueue_descriptor(Instant now,
                                      Rank from,
                                      BlockIndex block,
                                      std::uint32_t request) {
    const Destination to{.to_group = false, .peer = from};
    if (enqueue(now, to, {.block = block, .first = 0, .count = 1}, request) !=
        Enqueued::waits) {
        return false;
    }
    find(to, block)->is_to_describe = true;
    return true;
}

/// LACKING names the missing chunks of a run one by one, so that they are requested from others
/// at once.
void RepairServer::take_lacking(Rank from, const wire::ChunkRun& run, wire::Request& lacking) {
    const auto job = find({.to_group = false, .peer = from}, run.block);
    if (job == jobs_.end() || !job->is_ready) {
        return;
    }
    for (std::uint32_t i = 0; i < run.count && lacking.runs.size() < wire::kMaxRuns; ++i) {
        const std::uint32_t chunk = run.first + i;
        if (!holdings_.has(run.block, chunk)) {
            job->wanted.remove(chunk);
            lacking.runs.push_back(
                {.block = run.block, .first = static_cast<std::uint16_t>(chunk), .count = 1});
        }
    }
    if (job->wanted.is_empty()) {
        finish(static_cast<std::size_t>(job - jobs_.begin()));
    }
}

bool RepairServer::repeat(Instant now, const wire::ChunkRun& run) {
    return enqueue(now, {.to_group = true, .peer = {}}, run, 0) == Enqueued::waits;
}

std::deque<RepairServer::Job>::iterator RepairServer::find(const Destination& to,
                                                           BlockIndex block) {
    return std::ranges::find_if(
        jobs_, [&](const Job& job) { return job.block == block && job.to == to; });
}

/// `absent` if nothing of the run can be given, now or after a load.
RepairServer::Enqueued RepairServer::enqueue(Instant now,
                                             Destination to,
                                             const wire::ChunkRun& run,
                                             std::uint32_t request) {
    const std::uint32_t chunks = holdings_.chunks(run.block);
    const std::uint32_t end =
        std::min<std::uint32_t>(run.first + std::uint32_t{run.count}, chunks);
    const bool is_resident = pool_.contains(run.block);
    if (run.first >= end || (!is_resident && !holdings_.can_load(run.block))) {
        return Enqueued::absent;
    }
    auto job = find(to, run.block);
    if (job == jobs_.end()) {
        if (jobs_.size() >= limits_.jobs_max) {
            return Enqueued::no_room;
        }
        jobs_.push_back({.to = to, .block = run.block, .wanted = std::move(spare_.back())});
        spare_.pop_back();
        job = std::prev(jobs_.end());
        job->wanted.clear();
        if (is_resident && !is_loading_block(run.block)) {
            make_ready(*job);
        }
    }
    job->request = request;
    job->asked_at = now;
    for (std::uint32_t chunk = run.first; chunk < end; ++chunk) {
        job->wanted.add(chunk);
    }
    return Enqueued::waits;
}

void RepairServer::make_ready(Job& job) {
    job.is_ready = true;
    job.is_pinned = true;
    pool_.pin(job.block);
    pool_.touch(job.block);
}

void RepairServer::finish(std::size_t index) {
    Job& job = jobs_[index];
    if (job.is_pinned) {
        pool_.unpin(job.block);
    }
    spare_.push_back(std::move(job.wanted));
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(index));
}

/// What is left of the job is lacking here after all, or could not be answered in time.
void RepairServer::refuse(std::size_t index, bool is_busy, ControlQueue& out) {
    const Job& job = jobs_[index];
    wire::Request lacking{.id = job.request, .runs = {}};
    std::uint32_t first = job.wanted.next(0);
    while (first < job.wanted.capacity() && lacking.runs.size() < wire::kMaxRuns) {
        const std::uint32_t end = job.wanted.next_absent(first);
        lacking.runs.push_back({.block = job.block,
                                .first = static_cast<std::uint16_t>(first),
                                .count = static_cast<std::uint16_t>(end - first)});
        first = job.wanted.next(end);
    }
    if (!job.to.to_group) {
        push_lacking(job.to.peer, lacking, is_busy, out);
    }
    finish(index);
}

void RepairServer::order_loads(OperationQueue& operations, std::uint64_t& next_ticket) {
    for (Job& job : jobs_) {
        if (job.is_ready || is_loading_block(job.block)) {
            continue;
        }
        if (pool_.contains(job.block)) {
            make_ready(job);
            continue;
        }
        if (loading_.size() >= limits_.loads_max || !holdings_.can_load(job.block) ||
            !pool_.admit(job.block, operations)) {
            continue;
        }
        Operation load;
        load.kind = OperationKind::load;
        load.ticket = Ticket{next_ticket++};
        load.block = job.block;
        operations.push_back(load);
        loading_.push_back(job.block);
    }
}

bool RepairServer::wants_loads() const {
    return std::ranges::any_of(jobs_, [this](const Job& job) {
        if (job.is_ready || is_loading_block(job.block)) {
            return false;
        }
        return pool_.contains(job.block) || (loading_.size() < limits_.loads_max &&
                                             holdings_.can_load(job.block) && pool_.has_room());
    });
}

void RepairServer::on_loaded(BlockIndex block, bool is_good, ControlQueue& out) {
    std::erase(loading_, block);
    for (std::size_t i = jobs_.size(); i-- > 0;) {
        if (jobs_[i].block != block || jobs_[i].is_ready) {
            continue;
        }
        if (is_good) {
            make_ready(jobs_[i]);
        } else {
            refuse(i, false, out);
        }
    }
}

bool RepairServer::is_loading_block(BlockIndex block) const {
    return std::ranges::find(loading_, block) != loading_.end();
}

void RepairServer::fill(Instant now, SendBatch& batch, Pacer& pacer, Numbering& numbers) {
    for (std::size_t i = 0; i < jobs_.size();) {
        if (batch.full() || pacer.credit(now) <= 0) {
            return;
        }
        if (!jobs_[i].is_ready) {
            ++i;
            continue;
        }
        send_number(jobs_[i], batch, pacer, numbers);
        while (!batch.full() && pacer.credit(now) > 0 &&
               send_some(now, jobs_[i], batch, pacer, numbers)) {
        }
        if (!jobs_[i].wanted.is_empty()) {
            return;  // the batch is full, or the tokens are spent
        }
        finish(i);
    }
}

/// One run of wanted chunks as one train. False if nothing is left to send.
bool RepairServer::send_some(
    Instant now, Job& job, SendBatch& batch, Pacer& pacer, Numbering& numbers) {
    std::uint32_t first = job.wanted.next(0);
    while (first < job.wanted.capacity() && !holdings_.has(job.block, first)) {
        job.wanted.remove(first);  // it was here when it was asked for: its block was bad
        first = job.wanted.next(first);
    }
    if (first >= job.wanted.capacity()) {
        return false;
    }
    const std::uint32_t room = packets_allowed(batch, pacer.credit(now), packet_bytes_);
    std::uint32_t count = 0;
    while (count < room && job.wanted.has(first + count) &&
           holdings_.has(job.block, first + count)) {
        job.wanted.remove(first + count);
        ++count;
    }
    Send send;
    send.flags = wire::kFlagRepeat;
    send.to = job.to;
    send.packet_number = numbers.take(count);
    send.block = job.block;
    send.first = ChunkIndex{static_cast<std::uint16_t>(first)};
    send.count = static_cast<std::uint16_t>(count);
    batch.sends.push_back(std::move(send));
    batch.packets += count;
    pacer.charge(std::uint64_t{count} * packet_bytes_);
    if (!job.to.to_group) {
        sent_to(job.to.peer).number = numbers.last();
    }
    return true;
}

/// The entry of a peer, which other peers may have used since.
RepairServer::NumberSent& RepairServer::sent_to(Rank peer) {
    NumberSent& sent = numbers_sent_[peer.index() % numbers_sent_.size()];
    if (sent.peer != peer) {
        sent = {.peer = peer};
    }
    return sent;
}

/// A DATA packet carries 16 bits of its number: before a peer that has received nothing for
/// long can open one, a control packet must state the whole number. It may be lost, so several
/// answers begin with one. See docs/protocol, 2.3.
void RepairServer::send_number(Job& job, SendBatch& batch, Pacer& pacer, Numbering& numbers) {
    if (job.to.to_group) {
        return;
    }
    NumberSent& sent = sent_to(job.to.peer);
    if (numbers.last() < limits_.number_gap_max) {
        sent.stated = kNumberStated;  // It expands any number so far.
    } else if (sent.number + limits_.number_gap_max <= numbers.last()) {
        sent.stated = 0;
    }
    const bool is_stated = sent.stated >= kNumberStated;
    if (is_stated && !job.is_to_describe) {
        return;
    }
    auto body = holdings_.describe(job.block, 1);
    if (body.empty()) {
        return;
    }
    sent.stated = static_cast<std::uint8_t>(std::min(sent.stated + 1U, 0U + kNumberStated));
    job.is_to_describe = false;
    Send send;
    send.type = wire::PacketType::describe;
    send.to = job.to;
    send.packet_number = numbers.take(1);
    send.body = std::move(body);
    pacer.charge(send.body.size() + kWireOverheadBytes);
    batch.sends.push_back(std::move(send));
    ++batch.packets;
}

bool RepairServer::is_waiting() const {
    return std::ranges::any_of(jobs_, [](const Job& job) { return job.is_ready; });
}

void RepairServer::expire(Instant now, ControlQueue& out) {
    for (std::size_t i = jobs_.size(); i-- > 0;) {
        if (now - jobs_[i].asked_at > limits_.job_age_max) {
            refuse(i, true, out);
        }
    }
}

std::optional<Instant> RepairServer::deadline() const {
    std::optional<Instant> first;
    for (const Job& job : jobs_) {
        first = earlier(first, job.asked_at + limits_.job_age_max + Duration{1});
    }
    return first;
}

void RepairServer::clear() {
    while (!jobs_.empty()) {
        finish(jobs_.size() - 1);
    }
}

}  // namespace stage::core
