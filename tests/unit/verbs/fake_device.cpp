#include "tests/unit/verbs/fake_device.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace stage::verbs::test {

class FakeMemory final : public Memory {
  public:
    explicit FakeMemory(std::size_t bytes) : room_(bytes) {}
    [[nodiscard]] MutableBytes bytes() const override { return room_; }

  private:
    mutable std::vector<std::byte> room_;
};

class FakeQueue final : public CompletionQueue {
  public:
    explicit FakeQueue(FakeNet& net) : net_{net} {}

    [[nodiscard]] int descriptor() const override { return event_.get(); }
    Status arm() override {
        const std::lock_guard lock{net_.mutex};
        is_armed_ = true;
        return {};
    }
    [[nodiscard]] bool take_event() override {
        std::uint64_t count = 0;
        return ::read(event_.get(), &count, sizeof count) == sizeof count;
    }
    [[nodiscard]] Result<std::size_t> poll(std::span<Completion> into) override {
        const std::lock_guard lock{net_.mutex};
        const std::size_t count = std::min(into.size(), ended_.size());
        std::copy_n(ended_.begin(), count, into.begin());
        ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
        return count;
    }
    /// The net's mutex is held.
    void add(const Completion& one) {
        ended_.push_back(one);
        if (std::exchange(is_armed_, false)) {
            const std::uint64_t once = 1;
            if (net_.plan.holds_events) {
                net_.held_events.push_back(event_.get());
                return;
            }
            static_cast<void>(::write(event_.get(), &once, sizeof once));
        }
    }

  private:
    FakeNet& net_;
    UniqueFd event_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    std::deque<Completion> ended_;
    bool is_armed_ = false;
};

struct FakeHandle final : AddressHandle {
    std::string group{};  ///< Empty: of a peer.
};

class FakeQueuePair final : public QueuePair {
  public:
    FakeQueuePair(FakeNet& net, const QueuePairPlan& plan, const Gid& gid, FakePortPlan& port)
        : net_{net},
          sends_{static_cast<FakeQueue&>(plan.sends)},
          receives_{static_cast<FakeQueue&>(plan.receives)},
          qkey_{plan.qkey},
          gid_{gid},
          port_{port} {
        const std::lock_guard lock{net_.mutex};
        number_ = net_.next_number++;
        net_.pairs[number_] = this;
    }
    ~FakeQueuePair() override {
        const std::lock_guard lock{net_.mutex};
        net_.pairs.erase(number_);
        for (auto& [name, members] : net_.groups) {
            members.erase(this);
        }
    }

    [[nodiscard]] std::uint32_t number() const override { return number_; }

    Status receive(std::span<const ReceiveRequest> requests) override {
        const std::lock_guard lock{net_.mutex};
        rooms_.insert(rooms_.end(), requests.begin(), requests.end());
        return {};
    }

    Status send(std::span<const SendRequest> requests) override {
        if (port_.has_gone) {
            return Error{Blame::node, "the fake device has gone"};
        }
        const std::lock_guard lock{net_.mutex};
        for (const SendRequest& one : requests) {
            const auto& to = static_cast<const FakeHandle&>(*one.to);
            if (!to.group.empty()) {
                for (FakeQueuePair* member : net_.groups[to.group]) {
                    deliver(*member, one);
                }
            } else if (const auto peer = net_.pairs.find(one.queue_pair);
                       peer != net_.pairs.end()) {
                deliver(*peer->second, one);
            }
            if (one.is_signalled && net_.plan.holds_sends) {
                net_.held.emplace_back(&sends_, Completion{.id = one.id});
            } else if (one.is_signalled) {
                sends_.add({.id = one.id});
            }
        }
        return {};
    }

  private:
    struct Datagram {
        std::vector<std::byte> bytes;
        std::uint32_t source = 0;
        Gid gid{};
    };

    void deliver(FakeQueuePair& to, const SendRequest& one) {
        const auto is_due = [this](unsigned every) {
            return every != 0 && net_.deliveries % every == 0;
        };
        ++net_.deliveries;
        if (is_due(net_.plan.loses_every) || one.qkey != to.qkey_) {
            return;
        }
        const Datagram datagram{{one.datagram.begin(), one.datagram.end()}, number_, gid_};
        if (is_due(net_.plan.reorders_every) && !to.late_) {
            to.late_ = datagram;
            return;
        }
        to.take(datagram);
        if (is_due(net_.plan.doubles_every)) {
            to.take(datagram);
        }
        if (to.late_) {
            to.take(*std::exchange(to.late_, std::nullopt));
        }
    }

    /// A datagram without room is lost, as by a device.
    void take(const Datagram& datagram) {
        const std::size_t bytes = kRouteHeaderBytes + datagram.bytes.size();
        if (rooms_.empty() || rooms_.front().room.size() < bytes) {
            return;
        }
        const ReceiveRequest room = rooms_.front();
        rooms_.pop_front();
        std::memset(room.room.data(), 0, kRouteHeaderBytes);
        std::memcpy(room.room.data() + 32, datagram.gid.data() + 12, 4);
        std::ranges::copy(datagram.bytes, room.room.begin() + kRouteHeaderBytes);
        receives_.add({.id = room.id,
                       .bytes = static_cast<std::uint32_t>(bytes),
                       .source = datagram.source});
    }

    FakeNet& net_;
    FakeQueue& sends_;
    FakeQueue& receives_;
    std::uint32_t qkey_;
    Gid gid_;
    FakePortPlan& port_;
    std::uint32_t number_ = 0;
    std::deque<ReceiveRequest> rooms_;
    std::optional<Datagram> late_;
};

class FakeMembership final : public Membership {
  public:
    FakeMembership(FakeNet& net, std::string group) : net_{net} {
        handle_.group = std::move(group);
        ++net_.joins;
    }
    ~FakeMembership() override {
        const std::lock_guard lock{net_.mutex};
        net_.groups[handle_.group].erase(attached_);
        --net_.joins;
    }
    [[nodiscard]] std::uint32_t qkey() const override { return 0x01234567; }
    [[nodiscard]] const AddressHandle& handle() const override { return handle_; }
    Status attach(QueuePair& queue_pair) override {
        const std::lock_guard lock{net_.mutex};
        attached_ = static_cast<FakeQueuePair*>(&queue_pair);
        net_.groups[handle_.group].insert(attached_);
        return {};
    }

  private:
    FakeNet& net_;
    FakeHandle handle_;
    FakeQueuePair* attached_ = nullptr;
};

class FakePort final : public DevicePort {
  public:
    FakePort(FakeNet& net, FakePortPlan& plan) : net_{net}, plan_{plan} {}

    [[nodiscard]] const PortFacts& facts() const override { return plan_.facts; }
    [[nodiscard]] Result<std::unique_ptr<Memory>> memory(std::size_t bytes) override {
        TRY(next_call());
        return std::unique_ptr<Memory>{std::make_unique<FakeMemory>(bytes)};
    }
    [[nodiscard]] Result<std::unique_ptr<CompletionQueue>> completion_queue(
        std::uint32_t /*completions_max*/) override {
        TRY(next_call());
        return std::unique_ptr<CompletionQueue>{std::make_unique<FakeQueue>(net_)};
    }
    [[nodiscard]] Result<std::unique_ptr<QueuePair>> queue_pair(
        const QueuePairPlan& plan) override {
        TRY(next_call());
        return std::unique_ptr<QueuePair>{
            std::make_unique<FakeQueuePair>(net_, plan, plan_.facts.gid, plan_)};
    }
    [[nodiscard]] Result<std::unique_ptr<AddressHandle>> handle(
        const UdAddress& /*peer*/) override {
        std::unique_lock lock{net_.mutex};
        net_.handles.wait(lock, [this] { return !net_.plan.holds_handles; });
        return std::unique_ptr<AddressHandle>{std::make_unique<FakeHandle>()};
    }
    [[nodiscard]] Result<std::unique_ptr<Membership>> join(
        const Address& group, std::chrono::milliseconds /*longest*/) override {
        TRY(next_call());
        return std::unique_ptr<Membership>{
            std::make_unique<FakeMembership>(net_, group.to_string())};
    }
    [[nodiscard]] int descriptor() const override { return event_.get(); }
    Status check() override {
        return plan_.has_gone ? Error{Blame::node, plan_.facts.name + ": the device has gone"}
                              : Status{};
    }

  private:
    Status next_call() {
        return calls_++ == plan_.fails_call
                   ? Error{Blame::node, plan_.facts.name + ": the fake call fails"}
                   : Status{};
    }

    FakeNet& net_;
    FakePortPlan& plan_;
    int calls_ = 0;
    UniqueFd event_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
};

void FakeNet::finish_sends() {
    const std::lock_guard lock{mutex};
    for (const auto& [queue, one] : held) {
        queue->add(one);
    }
    held.clear();
}

void FakeNet::finish_handles() {
    {
        const std::lock_guard lock{mutex};
        plan.holds_handles = false;
    }
    handles.notify_all();
}

void FakeNet::finish_events() {
    const std::lock_guard lock{mutex};
    const std::uint64_t once = 1;
    for (const int event : held_events) {
        static_cast<void>(::write(event, &once, sizeof once));
    }
    held_events.clear();
}

PortFacts facts_of_host(std::uint8_t host) {
    PortFacts facts{
        .name = "fake" + std::to_string(host) + " port 1", .mtu = 4096, .requests_max = 4096};
    facts.gid[10] = facts.gid[11] = std::byte{0xff};
    facts.gid[12] = std::byte{10};
    facts.gid[15] = std::byte{host};
    return facts;
}

std::unique_ptr<DevicePort> open_fake(FakeNet& net, FakePortPlan& plan) {
    return std::make_unique<FakePort>(net, plan);
}

}  // namespace stage::verbs::test
