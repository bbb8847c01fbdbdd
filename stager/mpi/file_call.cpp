#include "stager/mpi/file_call.h"

#include "stager/mpi/addresses/common_network.h"
#include "transport/base/codec.h"
#include "transport/os/installation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace stage {
namespace {

/// In a user namespace, as in a container, each owner that it does not map.
constexpr uid_t kUnmapped = 65534;

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

/// What the root says to all: whether there is an offer, its release, then the offer or why
/// there is none.
std::vector<std::byte> encode_opening(const CallMessage& message) {
    ByteWriter out;
    out.u8(std::holds_alternative<CallOffer>(message) ? 1 : 0);
    out.text(version()).raw(encode_call(message));
    return out.take();
}

struct Opening {
    bool has_offer = false;
    CallMessage message =
        CallEnd{};  ///< CallEnd: there is none, or this release can't read it.
};

Opening decode_opening(Bytes bytes) {
    constexpr std::size_t kMaxVersionBytes = 256;
    ByteReader in{bytes};
    Opening opening{.has_offer = in.u8() != 0};
    const std::string release = in.text(kMaxVersionBytes);
    CallEnd end;
    if (release != version()) {
        end.why = std::string{"libstagecast-mpi is of release "} + version() +
                  ", that of the root of " + release;
        opening.message = end;
        return opening;
    }
    Result<CallMessage> message = decode_call(in.raw(in.left()));
    if (message) {
        opening.message = *std::move(message);
    } else {
        end.why = message.error().sentence();
        opening.message = end;
    }
    return opening;
}

const CallEnd* end_in(const std::vector<CallMessage>& messages) {
    for (const CallMessage& message : messages) {
        if (const auto* end = std::get_if<CallEnd>(&message)) {
            return end;
        }
    }
    return nullptr;
}

/// `message` if it is a `Wanted`, or else a CallEnd.
template <class Wanted>
CallMessage only(CallMessage message) {
    if (std::holds_alternative<Wanted>(message) || std::holds_alternative<CallEnd>(message)) {
        return message;
    }
    CallEnd end;
    end.why = "unexpected message from stagecast-worker";
    return end;
}

bool is_needed(const CallMessage& state) {
    const auto* ready = std::get_if<CallReady>(&state);
    return ready != nullptr && ready->is_needed;
}

/// The root, if any other needs the file or itself a copy, and all that need it.
std::vector<std::size_t> members_among(const std::vector<CallMessage>& states) {
    std::vector<std::size_t> members;
    const bool is_any_needed = std::ranges::any_of(states, is_needed);
    for (std::size_t i = 0; i < states.size(); ++i) {
        if (is_any_needed && (i == 0 || is_needed(states[i]))) {
            members.push_back(i);
        }
    }
    return members;
}

}  // namespace

FileCall::FileCall(Leaders& leaders, CallProgressFunction on_progress)
    : leaders_{leaders}, on_progress_{std::move(on_progress)} {
    report_.rank = static_cast<std::uint32_t>(leaders.rank());
    report_.node = host_name();
}

Result<std::vector<NodeReport>> FileCall::run(const Result<CallOrder>& order) {
    std::vector<std::byte> opening;
    if (leaders_.is_root()) {
        opening = encode_opening(open_source(order));
    }
    TRY(leaders_.broadcast(opening));
    TRY(follow(opening));
    engine_.reset();
    return gather_reports();
}

Status FileCall::follow(Bytes bytes) {
    const Opening opening = decode_opening(bytes);
    if (const auto* offer = std::get_if<CallOffer>(&opening.message)) {
        offer_ = *offer;
        report_.bytes = offer_.bytes;
        return distribute(examine());
    }
    // A node that cannot read the offer still has its turn among the others.
    if (opening.has_offer) {
        return distribute(opening.message);
    }
    if (const auto* failed = std::get_if<CallEnd>(&opening.message);
        failed != nullptr && leaders_.is_root()) {
        fail(failed->why);
    }
    return {};
}

/// Starts the worker and returns its answer, or a CallEnd.
template <class Answer>
CallMessage FileCall::start(const CallMessage& first) {
    Result<EngineProcess> engine = EngineProcess::start();
    if (!engine) {
        CallEnd end;
        end.why = engine.error().sentence();
        return end;
    }
    engine_.emplace(*std::move(engine));
    engine_->say(first);
    return only<Answer>(engine_->hear());
}

/// Returns the offer of the root's worker, or a CallEnd.
CallMessage FileCall::open_source(const Result<CallOrder>& order) {
    if (!order) {
        CallEnd end;
        end.why = order.error().sentence();
        return end;
    }
    CallMessage offer = start<CallOffer>(
        CallSend{.order = *order, .nodes = static_cast<std::uint16_t>(leaders_.count())});
    if (std::holds_alternative<CallOffer>(offer)) {
        ready_ = only<CallReady>(engine_->hear());
    }
    return offer;
}

/// The state of this node: whether it needs the file. Sets what the report says if it does not.
CallMessage FileCall::examine() {
    if (leaders_.is_root()) {
        report_.status = offer_.order.destination.empty() ? STAGECAST_THERE : STAGECAST_LEFT;
        return ready_;
    }
    if (is_there()) {
        report_.status = STAGECAST_THERE;
        return CallReady{};
    }
    report_.status = STAGECAST_LEFT;
    return start<CallReady>(CallReceive{.offer = offer_,
                                        .node = static_cast<std::uint16_t>(leaders_.own()),
                                        .nodes = static_cast<std::uint16_t>(leaders_.count())});
}

/// A file with the same time and size at the same path: that of a shared file system, or of an
/// earlier call. Anyone can make such a file, but not with the owner of the source or of this
/// process: another's is for the worker to judge.
bool FileCall::is_there() const {
    const CallOrder& order = offer_.order;
    const bool is_copy = order.is_on_each_node && !order.destination.empty();
    const std::string& path = is_copy ? order.destination : order.source;
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_uid == ::geteuid() ||
            (status.st_uid == offer_.owner && offer_.owner != kUnmapped)) &&
           status.st_mtim.tv_sec == offer_.seconds &&
           status.st_mtim.tv_nsec == static_cast<long>(offer_.nanoseconds) &&
           static_cast<std::uint64_t>(status.st_size) == offer_.bytes;
}

Result<std::vector<CallMessage>> FileCall::exchange(const CallMessage& own) {
    TRY(auto all, leaders_.gather(encode_call(own)));
    std::vector<CallMessage> messages;
    for (const std::vector<std::byte>& bytes : all) {
        Result<CallMessage> message = decode_call(bytes);
        messages.push_back(message ? *std::move(message) : CallMessage{CallEnd{}});
    }
    return messages;
}

Status FileCall::distribute(const CallMessage& state) {
    TRY(auto states, exchange(state));
    if (end_in(states) == nullptr) {
        return broadcast(states);
    }
    if (const auto* failed = std::get_if<CallEnd>(&state)) {
        fail(failed->why);
    } else if (is_needed(state)) {
        set_status(STAGECAST_NOT_DONE);
    }
    return {};
}

Status FileCall::broadcast(const std::vector<CallMessage>& states) {
    members_ = members_among(states);
    const auto own = std::ranges::find(members_, leaders_.own());
    const bool is_member = own != members_.end();
    if (members_.empty()) {
        return {};
    }
    std::vector<std::vector<CallAddress>> hosts;
    for (const std::size_t member : members_) {
        hosts.push_back(std::get<CallReady>(states[member]).addresses);
    }
    CallGroup group{.own = Rank{static_cast<std::uint16_t>(own - members_.begin())},
                    .size = static_cast<std::uint32_t>(members_.size()),
                    .address = {}};
    if (members_.size() > 1) {
        const auto addresses = common_network(hosts);
        if (!addresses) {
            if (is_member) {
                set_status(STAGECAST_NOT_DONE);
            }
            if (leaders_.is_root()) {
                fail(
                    "the nodes have no network in common; name an interface of it in "
                    "STAGECAST_INTERFACE");
            }
            return {};
        }
        group.address = is_member ? (*addresses)[group.own.index()] : IpAddress{};
    }
    TRY(const auto is_connected, connect(group, is_member));
    if (is_member && is_connected) {
        transfer();
    }
    return {};
}

/// Exchanges the cards. Returns false if a member has none.
Result<bool> FileCall::connect(const CallGroup& group, bool is_member) {
    if (is_member) {
        engine_->say(group);
    }
    if (group.size == 1) {
        return true;
    }
    const CallMessage card =
        is_member ? only<CallCard>(engine_->hear()) : CallMessage{CallCard{}};
    TRY(const auto all, exchange(card));
    if (end_in(all) != nullptr) {
        if (const auto* failed = std::get_if<CallEnd>(&card)) {
            fail(failed->why);
        } else if (is_member) {
            set_status(STAGECAST_NOT_DONE);
        }
        return false;
    }
    CallCards cards;
    for (const std::size_t member : members_) {
        const auto* one = std::get_if<CallCard>(&(all)[member]);
        cards.cards.push_back(one == nullptr ? std::vector<std::byte>{} : one->card);
    }
    if (is_member) {
        engine_->say(cards);
    }
    return true;
}

/// Until the worker has ended its part.
void FileCall::transfer() {
    for (;;) {
        const CallMessage message = engine_->hear();
        if (const auto* progress = std::get_if<CallProgress>(&message)) {
            if (on_progress_) {
                on_progress_(progress->bytes, progress->bytes_total);
            }
            continue;
        }
        const auto* last = std::get_if<CallEnd>(&message);
        end(last == nullptr ? CallEnd{} : *last);
        return;
    }
}

void FileCall::end(const CallEnd& end) {
    if (end.is_good) {
        set_status(STAGECAST_WRITTEN);
    } else if (end.is_of_other) {
        set_status(end.is_held ? STAGECAST_WRITTEN : STAGECAST_NOT_DONE);
        report_.blamed = static_cast<std::uint32_t>(members_.at(end.culprit.index()));
        report_.blamed_for = end.why;
    } else {
        fail(end.why);
    }
}

/// Called on a node that needs the file. The root's report says what became of its own copy.
void FileCall::set_status(stagecast_status status) {
    if (!leaders_.is_root() || is_needed(ready_)) {
        report_.status = static_cast<std::uint8_t>(status);
    }
}

void FileCall::fail(const std::string& why) {
    report_.status = STAGECAST_FAILED;
    report_.why = why.empty() ? "it failed without saying why" : why;
}

Result<std::vector<NodeReport>> FileCall::gather_reports() {
    TRY(auto all, leaders_.gather(encode_reports({report_})));
    std::vector<NodeReport> reports;
    for (const std::vector<std::byte>& bytes : all) {
        const auto one = decode_reports(bytes);
        reports.push_back(one && one->size() == 1 ? one->front() : NodeReport{});
    }
    settle_blame(reports);
    return reports;
}

}  // namespace stage
