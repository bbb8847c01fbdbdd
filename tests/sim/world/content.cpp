#include "tests/sim/world/content.h"

#include "transport/core/base/limits.h"

#include <algorithm>
#include <utility>

namespace stage::sim {
namespace {

/// Never 0. Cheap: every chunk that arrives anywhere is compared with it.
std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    std::uint64_t mixed = a * 0x9e3779b97f4a7c15U ^ (b << 20U) ^ c;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    return (mixed ^ (mixed >> 27U)) | 1U;
}

core::Completion answer(const core::Operation& operation, core::Verdict verdict) {
    core::Completion completion;
    completion.ticket = operation.ticket;
    completion.kind = operation.kind;
    completion.block = operation.block;
    completion.verdict = verdict;
    return completion;
}

core::Completion refusal(const core::Operation& operation, const char* why) {
    core::Completion completion = answer(operation, core::Verdict::failed);
    completion.why = Error{Blame::user, why};
    return completion;
}

}  // namespace

bool Object::is_hole(std::uint32_t block) const {
    return plan_.hole_percent > 0 && mix(plan_.seed, block, 7) / 2 % 100 < plan_.hole_percent;
}

std::uint32_t Object::chunks(std::uint32_t block) const {
    if (block >= plan_.block_bytes.size()) {
        return core::kSymbolsAndParitiesMax;
    }
    return is_hole(block) ? 0 : (plan_.block_bytes[block] + cut_ - 1U) / cut_;
}

std::uint32_t Object::chunk_bytes(std::uint32_t block, std::uint32_t chunk) const {
    const std::uint32_t rest = plan_.block_bytes[block] - chunk * cut_;
    return std::min(rest, cut_);
}

std::uint64_t Object::chunks_all() const {
    std::uint64_t sum = 0;
    for (std::uint32_t block = 0; block < plan_.block_bytes.size(); ++block) {
        sum += chunks(block);
    }
    return sum;
}

std::uint64_t Object::content(std::uint32_t block, std::uint32_t chunk) const {
    return mix(plan_.seed, std::uint64_t{block} + 1, chunk);
}

wire::Descriptor Object::describe(std::uint32_t block) const {
    const std::uint32_t length = plan_.block_bytes[block];
    const bool hole = is_hole(block);
    wire::Descriptor descriptor{.length = length,
                                .wire_length = hole ? 0 : length,
                                .encoding = hole ? wire::Encoding::hole : wire::Encoding::raw,
                                .leaf = {}};
    const std::uint64_t leaf = mix(plan_.seed, block, 0xfedcU);
    for (unsigned i = 0; i < 8; ++i) {
        descriptor.leaf[i] = static_cast<std::byte>((leaf >> (8U * i)) & 0xffU);
    }
    return descriptor;
}

Content::Content(const Plan& plan, std::uint16_t rank, Prng& prng, Complain complain)
    : plan_{plan},
      own_{plan.member[rank]},
      object_{plan},
      is_source_{rank == plan.source},
      prng_{prng},
      complain_{std::move(complain)},
      resident_(2 * plan.block_bytes.size()),
      stored_(plan.block_bytes.size()),
      before_(plan.block_bytes.size()),
      may_be_coded_{plan.block_bytes.size() <= core::ParityLimits{}.coded_blocks_max} {
    if (own_.holds_already) {
        hold_before(
            {.first = BlockIndex{0}, .count = static_cast<std::uint32_t>(stored_.size())});
        return;
    }
    std::ranges::for_each(own_.held_before,
                          [this](const core::BlockRun& run) { hold_before(run); });
}

void Content::hold_before(const core::BlockRun& run) {
    const auto first = static_cast<std::ptrdiff_t>(run.first.index());
    std::fill_n(before_.begin() + first, run.count, std::uint8_t{1});
    blocks_before_ += run.count;
    if (!is_source_) {
        std::fill_n(stored_.begin() + first, run.count, std::uint8_t{1});
        blocks_stored_ += run.count;
    }
}

Content::Buffer& Content::make_resident(BlockIndex block) {
    std::uint16_t& place = resident_[block.index()];
    if (place == 0) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint16_t>(buffers_.size()));
            buffers_.emplace_back();
            if (buffers_.size() > plan_.resident_blocks) {
                complain_("more blocks resident than allowed");
            }
        }
        buffers_[free_.back()].assign(kBlockBytes / object_.cut() + 1, State::absent);
        place = static_cast<std::uint16_t>(free_.back() + 1U);
        free_.pop_back();
    }
    return buffers_[place - 1U];
}

const Content::Buffer* Content::find(BlockIndex block) const {
    const std::uint16_t place =
        block.index() < resident_.size() ? resident_[block.index()] : std::uint16_t{0};
    return place == 0 ? nullptr : &buffers_[place - 1U];
}

bool Content::is_right(const Buffer& buffer, std::uint32_t block) const {
    return std::all_of(buffer.begin(), buffer.begin() + object_.chunks(block), [](State state) {
        return state == State::right;
    });
}

void Content::recut(std::uint32_t chunk_bytes) {
    const bool has_come = !is_source_ && blocks_stored_ > blocks_before_;
    if (free_.size() != buffers_.size() || has_come) {
        complain_("chunks changed their size after some had come");
    }
    object_.recut(chunk_bytes);
}

void Content::place(BlockIndex block, ChunkIndex chunk, std::uint64_t content) {
    if (block.index() >= resident_.size()) {
        return complain_("a chunk of no block was placed");
    }
    Buffer& buffer = make_resident(block);
    if (chunk.index() >= buffer.size()) {
        return complain_("a chunk was placed beyond its block");
    }
    State& state = buffer[chunk.index()];
    if (state != State::absent) {
        complain_("a chunk was placed twice");
    }
    const bool is_right = content == object_.content(block.value(), chunk.value());
    const bool is_flipped = own_.memory_flip_ppm > 0 && prng_.chance_ppm(own_.memory_flip_ppm);
    state = is_flipped ? State::flipped : is_right ? State::right : State::strange;
}

void Content::encode(const core::Operation& operation) {
    bool is_right = true;
    for (const auto& symbol : operation.code->symbols()) {
        const Buffer* buffer = find(symbol.block);
        is_right =
            is_right && buffer != nullptr && (*buffer)[symbol.chunk.index()] == State::right;
    }
    if (!is_right) {
        complain_("parities were made of what isn't here");
    }
    Buffer& buffer = make_resident(operation.block);
    std::fill_n(buffer.begin(), operation.code->parities, State::right);
}

void Content::reconstruct(const core::Operation& operation) {
    const core::ParityCode& code = *operation.code;
    const auto symbols = code.symbols();
    bool is_right = code.with.size() == code.lost.size();
    for (const std::uint16_t parity : code.with) {
        const Buffer* buffer = find(operation.block);
        is_right = is_right && buffer != nullptr && (*buffer)[parity] == State::right;
    }
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const Buffer* buffer = find(symbols[i].block);
        const bool is_lost = std::ranges::binary_search(code.lost, i);
        is_right = is_right &&
                   (is_lost ||
                    (buffer != nullptr && (*buffer)[symbols[i].chunk.index()] == State::right));
    }
    for (const std::uint16_t lost : code.lost) {
        State& state = make_resident(symbols[lost].block)[symbols[lost].chunk.index()];
        if (state != State::absent) {
            complain_("a chunk was reconstructed that was there");
        }
        state = is_right ? State::right : State::strange;
    }
    reconstructed_ += code.lost.size();
}

void Content::release(BlockIndex block) {
    if (find(block) == nullptr) {
        return complain_("a block was released that is not resident");
    }
    free_.push_back(static_cast<std::uint16_t>(resident_[block.index()] - 1U));
    resident_[block.index()] = 0;
}

std::uint64_t Content::cut(BlockIndex block, std::uint32_t chunk) const {
    const Buffer* buffer = find(block);
    if (buffer == nullptr || chunk >= object_.chunks(block.value()) ||
        (*buffer)[chunk] == State::absent) {
        complain_("a chunk was sent that is not in memory");
        return 0;
    }
    const std::uint64_t right = object_.content(block.value(), chunk);
    return (*buffer)[chunk] == State::right ? right : right ^ 0x10U;
}

std::uint64_t Content::cost(const core::Operation& operation) const {
    if (operation.kind == core::OperationKind::finish) {
        return 0;
    }
    return plan_.block_bytes[operation.block.index()];
}

std::vector<core::Completion> Content::perform(const core::Operation& operation) {
    switch (operation.kind) {
        case core::OperationKind::load:
            return {load(operation)};
        case core::OperationKind::verify:
            return {verify(operation)};
        case core::OperationKind::store:
            return store(operation);
        case core::OperationKind::finish:
            return {finish(operation)};
        case core::OperationKind::place:
        case core::OperationKind::drop:
        case core::OperationKind::release:
        case core::OperationKind::encode:
        case core::OperationKind::reconstruct:
        case core::OperationKind::leave_group:
        case core::OperationKind::join_group:
            break;
    }
    complain_("an operation that the disk doesn't know");
    return {};
}

core::Completion Content::load(const core::Operation& operation) {
    ++loads_;
    const std::uint32_t block = operation.block.value();
    if (is_source_ && own_.store_fails_at == ++writes_) {
        return refusal(operation, "the source can't be read");
    }
    Buffer& buffer = make_resident(operation.block);
    if (!is_source_ && before_[block] != 0 && !may_be_coded_) {
        complain_("a block was read back that it can't know how to send");
    }
    if (is_source_) {
        stored_[block] = 1;  // Its own copy, from the same reading.
    }
    if (!is_source_ && (stored_[block] == 0 || prng_.chance_ppm(own_.load_fails_ppm))) {
        return answer(operation, core::Verdict::bad_digest);
    }
    std::fill_n(buffer.begin(), object_.chunks(block), State::right);
    core::Completion done = answer(operation, core::Verdict::good);
    done.descriptor = object_.describe(block);
    return done;
}

core::Completion Content::verify(const core::Operation& operation) {
    const std::uint32_t block = operation.block.value();
    const Buffer* buffer = find(operation.block);
    const bool is_good = buffer != nullptr && operation.descriptor == object_.describe(block) &&
                         is_right(*buffer, block);
    return answer(operation, is_good ? core::Verdict::good : core::Verdict::bad_digest);
}

bool Content::knows_places() const {
    for (std::uint32_t block = 0; block < plan_.manifest_blocks; ++block) {
        if (block < plan_.block_bytes.size() && stored_[block] == 0) {
            return false;
        }
    }
    return true;
}

std::vector<core::Completion> Content::store(const core::Operation& operation) {
    if (operation.block.value() >= plan_.manifest_blocks && !knows_places()) {
        static_cast<void>(make_resident(operation.block));
        if (deferred_.size() < std::max(plan_.resident_blocks / 2U, 1U)) {
            deferred_.push_back(operation);
            return {};
        }
        return {answer(operation, core::Verdict::bad_digest)};
    }
    std::vector<core::Completion> done{write(operation)};
    if (knows_places()) {
        for (const core::Operation& waiting : std::exchange(deferred_, {})) {
            done.push_back(write(waiting));
        }
    }
    return done;
}

core::Completion Content::write(const core::Operation& operation) {
    const std::uint32_t block = operation.block.value();
    if (own_.store_fails_at == writes_++) {
        return refusal(operation, "No space left on device");
    }
    if (!is_right(make_resident(operation.block), block)) {
        complain_("a wrong byte was stored");
    }
    if (own_.short_write_ppm > 0 && prng_.chance_ppm(own_.short_write_ppm)) {
        return answer(operation, core::Verdict::bad_digest);
    }
    if (operation.descriptor != object_.describe(block)) {
        complain_("a block was stored with another's descriptor");
    }
    if (before_[block] != 0 && may_be_coded_) {
        return answer(operation, core::Verdict::good);
    }
    if (++stored_[block] > 1) {
        complain_("a block was stored twice");
    }
    ++blocks_stored_;
    chunks_stored_ += object_.chunks(block);
    return answer(operation, core::Verdict::good);
}

core::Completion Content::finish(const core::Operation& operation) {
    if (own_.finish_fails) {
        return refusal(operation, "the final name is taken");
    }
    if (!is_source_ && blocks_stored_ != plan_.block_bytes.size()) {
        complain_("finish before every block was stored");
    }
    for (std::size_t block = 0; is_source_ && block < stored_.size(); ++block) {
        if (stored_[block] == 0 && before_[block] == 0) {
            complain_("the source finished a copy that lacks a block");
        }
    }
    if (has_finished_) {
        complain_("finish was asked for twice");
    }
    has_finished_ = true;
    return answer(operation, core::Verdict::good);
}

}  // namespace stage::sim
