#include "transport/verbs/rdma_core.h"

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include "transport/os/names_in.h"
#include "transport/os/unique_fd.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <endian.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace stage::verbs {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Owns an object of the libraries, which `end` frees.
template <auto end>
struct Ended {
    template <class Object>
    void operator()(Object* object) const {
        static_cast<void>(end(object));
    }
};
template <class Object, auto end>
using Owned = std::unique_ptr<Object, Ended<end>>;

using Events = Owned<rdma_event_channel, rdma_destroy_event_channel>;
using Id = Owned<rdma_cm_id, rdma_destroy_id>;
using Domain = Owned<ibv_pd, ibv_dealloc_pd>;
using Registration = Owned<ibv_mr, ibv_dereg_mr>;
using Channel = Owned<ibv_comp_channel, ibv_destroy_comp_channel>;
using Queue = Owned<ibv_cq, ibv_destroy_cq>;
using Pair = Owned<ibv_qp, ibv_destroy_qp>;
using Handle = Owned<ibv_ah, ibv_destroy_ah>;
using Event = Owned<rdma_cm_event, rdma_ack_cm_event>;

Error failed(const std::string& port, const std::string& doing, int cause = errno) {
    return Error::from_errno(Blame::node, port + ": " + doing, cause);
}

Status stop_blocking(int descriptor, const std::string& port) {
    const int flags = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) {
        return failed(port, "making its events not block");
    }
    return {};
}

struct Unmapped {
    std::size_t bytes = 0;
    void operator()(std::byte* begin) const { static_cast<void>(::munmap(begin, bytes)); }
};
using Pages = std::unique_ptr<std::byte, Unmapped>;

/// ENOMEM is what the libraries say where locked memory has a limit, whatever lacks.
Error no_room(const std::string& port, const std::string& doing, int cause = errno) {
    Error why = failed(port, doing, cause);
    rlimit limit{};
    if (cause != ENOMEM || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY) {
        return why;
    }
    return std::move(why).remedy("raise LimitMEMLOCK= (now " + std::to_string(limit.rlim_cur) +
                                 ")");
}

/// Pages that are not swapped out, because the device writes to them.
class CoreMemory final : public Memory {
  public:
    CoreMemory(Pages pages, Registration registration)
        : pages_{std::move(pages)}, registration_{std::move(registration)} {}

    [[nodiscard]] MutableBytes bytes() const override {
        return {pages_.get(), pages_.get_deleter().bytes};
    }

  private:
    Pages pages_;
    Registration registration_;
};

class CoreQueue final : public CompletionQueue {
  public:
    CoreQueue(Channel channel, Queue queue)
        : channel_{std::move(channel)}, queue_{std::move(queue)} {}

    [[nodiscard]] int descriptor() const override { return channel_->fd; }
    Status arm() override {
        const int cause = ibv_req_notify_cq(queue_.get(), 0);
        return cause == 0 ? Status{} : failed("RDMA device", "waiting for datagrams", cause);
    }
    [[nodiscard]] bool take_event() override {
        ibv_cq* queue = nullptr;
        void* context = nullptr;
        if (ibv_get_cq_event(channel_.get(), &queue, &context) != 0) {
            return false;
        }
        ibv_ack_cq_events(queue, 1);
        return true;
    }
    [[nodiscard]] Result<std::size_t> poll(std::span<Completion> into) override {
        std::array<ibv_wc, 64> found;
        const auto room = static_cast<int>(std::min(into.size(), found.size()));
        const int count = ibv_poll_cq(queue_.get(), room, found.data());
        if (count < 0) {
            return failed("RDMA device", "asking for datagrams");
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            const ibv_wc& one = found[i];
            into[i] = {.id = one.wr_id,
                       .bytes = one.byte_len,
                       .source = one.src_qp,
                       .failure = one.status == IBV_WC_SUCCESS ? nullptr
                                                               : ibv_wc_status_str(one.status)};
        }
        return static_cast<std::size_t>(count);
    }
    [[nodiscard]] ibv_cq* get() const { return queue_.get(); }

  private:
    Channel channel_;
    Queue queue_;
};

class CoreHandle final : public AddressHandle {
  public:
    explicit CoreHandle(Handle handle) : handle_{std::move(handle)} {}
    [[nodiscard]] ibv_ah* get() const { return handle_.get(); }

  private:
    Handle handle_;
};

class CorePair final : public QueuePair {
  public:
    CorePair(Pair pair, const std::vector<std::pair<const std::byte*, std::uint32_t>>& keys)
        : pair_{std::move(pair)}, keys_{keys} {}

    [[nodiscard]] std::uint32_t number() const override { return pair_->qp_num; }
    [[nodiscard]] ibv_qp* get() const { return pair_.get(); }

    Status send(std::span<const SendRequest> requests) override {
        requests_.assign(requests.size(), {});
        pieces_.resize(requests.size());
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const SendRequest& one = requests[i];
            pieces_[i] = piece_of(one.datagram);
            ibv_send_wr& request = requests_[i];
            request.wr_id = one.id;
            request.next = i + 1 < requests.size() ? &requests_[i + 1] : nullptr;
            request.sg_list = &pieces_[i];
            request.num_sge = 1;
            request.opcode = IBV_WR_SEND;
            request.send_flags = one.is_signalled ? unsigned{IBV_SEND_SIGNALED} : 0U;
            request.wr.ud.ah = static_cast<const CoreHandle*>(one.to)->get();
            request.wr.ud.remote_qpn = one.queue_pair;
            request.wr.ud.remote_qkey = one.qkey;
        }
        ibv_send_wr* refused = nullptr;
        const int cause = ibv_post_send(pair_.get(), requests_.data(), &refused);
        return cause == 0 ? Status{} : failed("RDMA device", "sending datagrams", cause);
    }

    Status receive(std::span<const ReceiveRequest> requests) override {
        if (requests.empty()) {
            return {};
        }
        rooms_.assign(requests.size(), {});
        pieces_.resize(std::max(pieces_.size(), requests.size()));
        for (std::size_t i = 0; i < requests.size(); ++i) {
            pieces_[i] = piece_of(requests[i].room);
            rooms_[i].wr_id = requests[i].id;
            rooms_[i].next = i + 1 < requests.size() ? &rooms_[i + 1] : nullptr;
            rooms_[i].sg_list = &pieces_[i];
            rooms_[i].num_sge = 1;
        }
        ibv_recv_wr* refused = nullptr;
        const int cause = ibv_post_recv(pair_.get(), rooms_.data(), &refused);
        return cause == 0 ? Status{} : failed("RDMA device", "giving it room", cause);
    }

  private:
    /// The registration that begins last before the bytes has them.
    [[nodiscard]] ibv_sge piece_of(Bytes bytes) const {
        std::uint32_t key = 0;
        const std::byte* begin = nullptr;
        for (const auto& [from, its_key] : keys_) {
            if (from <= bytes.data() && from >= begin) {
                begin = from;
                key = its_key;
            }
        }
        return {.addr = reinterpret_cast<std::uintptr_t>(bytes.data()),
                .length = static_cast<std::uint32_t>(bytes.size()),
                .lkey = key};
    }

    Pair pair_;
    const std::vector<std::pair<const std::byte*, std::uint32_t>>& keys_;
    std::vector<ibv_send_wr> requests_;
    std::vector<ibv_recv_wr> rooms_;
    std::vector<ibv_sge> pieces_;
};

/// Keeps groups with one address apart, as ports do with UDP. (A subnet manager has one Q_Key
/// for each group, and counts datagrams with another one as violations.)
std::uint32_t qkey_of(const Address& group) {
    constexpr std::uint32_t kOddFactor = 0x9e3779b1;  // 2^32 by the golden ratio: it spreads.
    constexpr std::uint32_t kUnprivileged = 0x7fffffff;
    std::uint32_t key = group.port;
    for (const std::byte octet : group.ip.bytes()) {
        key = (key ^ std::to_integer<std::uint32_t>(octet)) * kOddFactor;
    }
    return key & kUnprivileged;
}

/// A group that was joined by librdmacm, which has IGMP do its part on RoCE. The queue pair is
/// attached here: the library knows none of ours.
class CoreMembership final : public Membership {
  public:
    CoreMembership(rdma_cm_id* id, const SocketAddress& group, const rdma_ud_param& way)
        : id_{id}, group_{group}, way_{way} {}
    ~CoreMembership() override {
        if (attached_ != nullptr) {
            static_cast<void>(ibv_detach_mcast(attached_, &gid(), way_.ah_attr.dlid));
        }
        handle_.reset();
        static_cast<void>(rdma_leave_multicast(id_, const_cast<sockaddr*>(group_.get())));
    }

    Status open(ibv_pd* domain, const std::string& port) {
        Handle handle{ibv_create_ah(domain, &way_.ah_attr)};
        if (handle == nullptr) {
            return failed(port, "making the group's address handle");
        }
        handle_ = std::make_unique<CoreHandle>(std::move(handle));
        return {};
    }
    [[nodiscard]] std::uint32_t qkey() const override { return way_.qkey; }
    [[nodiscard]] const AddressHandle& handle() const override { return *handle_; }
    Status attach(QueuePair& queue_pair) override {
        ibv_qp* const pair = static_cast<CorePair&>(queue_pair).get();
        const int cause = ibv_attach_mcast(pair, &gid(), way_.ah_attr.dlid);
        if (cause != 0) {
            return failed("RDMA device", "attaching a queue pair to the group", cause);
        }
        attached_ = pair;
        return {};
    }

  private:
    [[nodiscard]] const ibv_gid& gid() const { return way_.ah_attr.grh.dgid; }

    rdma_cm_id* id_;
    SocketAddress group_;
    rdma_ud_param way_;
    std::unique_ptr<CoreHandle> handle_;
    ibv_qp* attached_ = nullptr;
};

class CorePort final : public DevicePort {
  public:
    CorePort(Events events, Id id, const PortPlan& plan)
        : events_{std::move(events)},
          id_{std::move(id)},
          traffic_class_{static_cast<std::uint8_t>(plan.dscp << 2U)},
          ttl_{plan.ttl} {}

    Status open(const Rail& rail);
    [[nodiscard]] const PortFacts& facts() const override { return facts_; }
    [[nodiscard]] Result<std::unique_ptr<Memory>> memory(std::size_t bytes) override;
    [[nodiscard]] Result<std::unique_ptr<CompletionQueue>> completion_queue(
        std::uint32_t completions_max) override;
    [[nodiscard]] Result<std::unique_ptr<QueuePair>> queue_pair(
        const QueuePairPlan& plan) override;
    [[nodiscard]] Result<std::unique_ptr<AddressHandle>> handle(const UdAddress& peer) override;
    [[nodiscard]] Result<std::unique_ptr<Membership>> join(const Address& group,
                                                           milliseconds longest) override;
    [[nodiscard]] int descriptor() const override { return id_->verbs->async_fd; }
    Status check() override;

  private:
    Status look(const Rail& rail);
    Status find_gid(const Rail& rail, std::size_t gids_max);
    Status find_partition();
    Status make_ready(ibv_qp* pair, std::uint32_t qkey);
    [[nodiscard]] Result<rdma_ud_param> joined_way(const std::string& doing,
                                                   milliseconds longest);
    Status check_membership();
    [[nodiscard]] Result<Event> next_event(const std::string& doing, milliseconds longest);

    Events events_;
    Id id_;
    std::uint8_t traffic_class_;
    std::uint8_t ttl_;
    PortFacts facts_;
    std::uint8_t gid_index_ = 0;
    bool needs_route_header_ = false;  ///< InfiniBand's: the subnet is part of a larger one.
    std::uint16_t pkey_index_ = 0;
    std::uint8_t service_level_ = 0;
    Domain domain_;
    std::vector<std::pair<const std::byte*, std::uint32_t>> keys_;
};

Status CorePort::open(const Rail& rail) {
    TRY(look(rail));
    TRY(stop_blocking(id_->verbs->async_fd, facts_.name));
    TRY(stop_blocking(events_->fd, facts_.name));
    domain_.reset(ibv_alloc_pd(id_->verbs));
    return domain_ != nullptr ? Status{} : failed(facts_.name, "making a protection domain");
}

Status CorePort::look(const Rail& rail) {
    facts_.name = std::string{ibv_get_device_name(id_->verbs->device)} + " port " +
                  std::to_string(id_->port_num);
    ibv_port_attr port{};
    ibv_device_attr device{};
    int cause = ibv_query_port(id_->verbs, id_->port_num, &port);
    cause = cause != 0 ? cause : ibv_query_device(id_->verbs, &device);
    if (cause != 0) {
        return failed(facts_.name, "asking for its state", cause);
    }
    if (port.state != IBV_PORT_ACTIVE) {
        return Error{Blame::node,
                     facts_.name + " is not active (" + ibv_port_state_str(port.state) + ")"};
    }
    facts_.mtu = 128U << static_cast<unsigned>(port.active_mtu);
    if (facts_.mtu < kMinPortMtu) {
        return Error{Blame::node,
                     facts_.name + " has an MTU of " + std::to_string(facts_.mtu) +
                         " bytes, below " + std::to_string(kMinPortMtu)}
            .remedy("set the MTU of " + rail.name + " to 2200 or more");
    }
    facts_.kind =
        port.link_layer == IBV_LINK_LAYER_INFINIBAND ? LinkKind::infiniband : LinkKind::roce;
    facts_.lid = port.lid;
    if (device.max_mcast_grp <= 0 || device.max_mcast_qp_attach <= 0) {
        return Error{Blame::node, facts_.name + " has no multicast by datagrams"};
    }
    facts_.requests_max =
        static_cast<std::uint32_t>(std::min(device.max_qp_wr, device.max_cqe));
    needs_route_header_ = (port.flags & IBV_QPF_GRH_REQUIRED) != 0;
    const std::size_t gids = static_cast<std::size_t>(std::max(port.gid_tbl_len, 1)) *
                             std::max<std::size_t>(device.phys_port_cnt, 1);
    TRY(find_gid(rail, gids));
    return facts_.kind == LinkKind::infiniband ? find_partition() : Status{};
}

/// InfiniBand's first GID is the port's. A RoCE port has one for each of the interfaces above
/// it, their addresses and the versions of RoCE, in no certain order; the table has those of
/// all ports.
Status CorePort::find_gid(const Rail& rail, std::size_t gids_max) {
    std::vector<ibv_gid_entry> all(gids_max);
    const ssize_t count = ibv_query_gid_table(id_->verbs, all.data(), all.size(), 0);
    if (count < 0) {
        return failed(facts_.name, "asking for its GIDs", static_cast<int>(-count));
    }
    all.resize(static_cast<std::size_t>(count));
    const unsigned interface = ::if_nametoindex(rail.name.c_str());
    const Bytes ip = rail.address.ip.bytes();
    ibv_gid wanted{};
    if (rail.address.ip.family == IpFamily::v4) {
        wanted.raw[10] = wanted.raw[11] = 0xff;
    }
    std::memcpy(wanted.raw + sizeof wanted.raw - ip.size(), ip.data(), ip.size());
    const auto found = std::ranges::find_if(all, [&](const ibv_gid_entry& one) {
        if (one.port_num != id_->port_num || facts_.kind == LinkKind::infiniband) {
            return one.port_num == id_->port_num && one.gid_index == 0;
        }
        return one.gid_type == IBV_GID_TYPE_ROCE_V2 && one.ndev_ifindex == interface &&
               std::memcmp(one.gid.raw, wanted.raw, sizeof wanted.raw) == 0;
    });
    if (found == all.end()) {
        return Error{Blame::node,
                     facts_.name + " has no RoCE v2 GID of " + to_string(rail.address.ip)};
    }
    std::memcpy(facts_.gid.data(), found->gid.raw, facts_.gid.size());
    gid_index_ = static_cast<std::uint8_t>(found->gid_index);
    return {};
}

/// IPoIB always shows the key of a full member; the port may be a limited one.
Status CorePort::find_partition() {
    constexpr std::uint16_t kFull = 0x8000;
    const std::uint16_t shown = be16toh(id_->route.addr.addr.ibaddr.pkey);
    for (const int key : {shown | kFull, shown & ~kFull}) {
        facts_.pkey = static_cast<std::uint16_t>(key);
        const int index = ibv_get_pkey_index(id_->verbs, id_->port_num, htobe16(facts_.pkey));
        if (index >= 0) {
            pkey_index_ = static_cast<std::uint16_t>(index);
            return {};
        }
    }
    return Error{Blame::node, facts_.name + " is not in the interface's partition"};
}

Result<std::unique_ptr<Memory>> CorePort::memory(std::size_t bytes) {
    void* const room =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        return failed(facts_.name, "allocating buffers");
    }
    Pages pages{static_cast<std::byte*>(room), Unmapped{bytes}};
    Registration registration{ibv_reg_mr(domain_.get(), room, bytes, IBV_ACCESS_LOCAL_WRITE)};
    if (registration == nullptr) {
        const int cause = errno;
        return no_room(facts_.name, "locking " + std::to_string(bytes) + " bytes", cause);
    }
    keys_.emplace_back(pages.get(), registration->lkey);
    return std::unique_ptr<Memory>{
        std::make_unique<CoreMemory>(std::move(pages), std::move(registration))};
}

Result<std::unique_ptr<CompletionQueue>> CorePort::completion_queue(
    std::uint32_t completions_max) {
    Channel channel{ibv_create_comp_channel(id_->verbs)};
    if (channel == nullptr) {
        return failed(facts_.name, "making a completion channel");
    }
    TRY(stop_blocking(channel->fd, facts_.name));
    Queue queue{ibv_create_cq(
        id_->verbs, static_cast<int>(completions_max), nullptr, channel.get(), 0)};
    if (queue == nullptr) {
        return no_room(facts_.name, "making a completion queue");
    }
    return std::unique_ptr<CompletionQueue>{
        std::make_unique<CoreQueue>(std::move(channel), std::move(queue))};
}

Result<std::unique_ptr<QueuePair>> CorePort::queue_pair(const QueuePairPlan& plan) {
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_UD;
    init.send_cq = static_cast<CoreQueue&>(plan.sends).get();
    init.recv_cq = static_cast<CoreQueue&>(plan.receives).get();
    init.cap = {.max_send_wr = plan.sends_max,
                .max_recv_wr = plan.receives_max,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    Pair pair{ibv_create_qp(domain_.get(), &init)};
    if (pair == nullptr) {
        return no_room(facts_.name, "making a queue pair");
    }
    TRY(make_ready(pair.get(), plan.qkey));
    return std::unique_ptr<QueuePair>{std::make_unique<CorePair>(std::move(pair), keys_)};
}

Status CorePort::make_ready(ibv_qp* pair, std::uint32_t qkey) {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.pkey_index = pkey_index_;
    to.port_num = id_->port_num;
    to.qkey = qkey;
    int cause =
        ibv_modify_qp(pair, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    to.qp_state = IBV_QPS_RTR;
    cause = cause != 0 ? cause : ibv_modify_qp(pair, &to, IBV_QP_STATE);
    to.qp_state = IBV_QPS_RTS;
    cause = cause != 0 ? cause : ibv_modify_qp(pair, &to, IBV_QP_STATE | IBV_QP_SQ_PSN);
    return cause == 0 ? Status{} : failed(facts_.name, "starting a queue pair", cause);
}

Result<std::unique_ptr<AddressHandle>> CorePort::handle(const UdAddress& peer) {
    ibv_ah_attr to{};
    to.port_num = id_->port_num;
    if (peer.kind == LinkKind::infiniband) {
        to.dlid = peer.lid;
        to.sl = service_level_;
    }
    if (peer.kind == LinkKind::roce || needs_route_header_) {
        to.is_global = 1;
        std::memcpy(to.grh.dgid.raw, peer.gid.data(), peer.gid.size());
        to.grh.sgid_index = gid_index_;
        to.grh.hop_limit = 64;
        to.grh.traffic_class = traffic_class_;
    }
    Handle handle{ibv_create_ah(domain_.get(), &to)};
    if (handle == nullptr) {
        return failed(facts_.name, "making an address handle");
    }
    return std::unique_ptr<AddressHandle>{std::make_unique<CoreHandle>(std::move(handle))};
}

Result<Event> CorePort::next_event(const std::string& doing, milliseconds longest) {
    const auto until = steady_clock::now() + longest;
    for (;;) {
        rdma_cm_event* event = nullptr;
        if (rdma_get_cm_event(events_.get(), &event) == 0) {
            return Event{event};
        }
        if (errno != EAGAIN && errno != EINTR) {
            return failed(facts_.name, doing);
        }
        const auto left =
            std::chrono::duration_cast<milliseconds>(until - steady_clock::now()).count();
        if (left <= 0) {
            return failed(facts_.name, doing, ETIMEDOUT);
        }
        pollfd wait{.fd = events_->fd, .events = POLLIN, .revents = 0};
        static_cast<void>(::poll(&wait, 1, static_cast<int>(left)));
    }
}

Result<std::unique_ptr<Membership>> CorePort::join(const Address& group, milliseconds longest) {
    const std::string doing = "joining the group " + to_string(group.ip);
    const SocketAddress place = group.with_port(0).to_socket();
    if (rdma_join_multicast(id_.get(), const_cast<sockaddr*>(place.get()), nullptr) != 0) {
        return failed(facts_.name, doing);
    }
    auto joined = joined_way(doing, longest);
    if (!joined) {
        static_cast<void>(rdma_leave_multicast(id_.get(), const_cast<sockaddr*>(place.get())));
        return std::move(joined).error();
    }
    rdma_ud_param way = *joined;
    way.ah_attr.grh.traffic_class = traffic_class_;
    if (facts_.kind == LinkKind::roce) {
        way.ah_attr.grh.hop_limit = ttl_;
        way.qkey = qkey_of(group);
    }
    auto membership = std::make_unique<CoreMembership>(id_.get(), place, way);
    if (facts_.kind == LinkKind::roce && way.ah_attr.grh.sgid_index != gid_index_) {
        return Error{Blame::node,
                     facts_.name + " joins groups by another GID: RoCE v1 is its default"}
            .remedy("set default_roce_mode to \"RoCE v2\"");
    }
    service_level_ = way.ah_attr.sl;
    TRY(membership->open(domain_.get(), facts_.name));
    return std::unique_ptr<Membership>{std::move(membership)};
}

/// The event is acknowledged when this returns: to leave waits for that.
Result<rdma_ud_param> CorePort::joined_way(const std::string& doing, milliseconds longest) {
    for (;;) {
        TRY(const Event event, next_event(doing, longest));
        if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN && event->status == 0) {
            return event->param.ud;
        }
        if (event->event != RDMA_CM_EVENT_ADDR_CHANGE) {
            return Error{Blame::node,
                         facts_.name + ": " + doing + ": " + rdma_event_str(event->event)};
        }
    }
}

Status CorePort::check() {
    ibv_async_event event{};
    while (ibv_get_async_event(id_->verbs, &event) == 0) {
        const ibv_event_type what = event.event_type;
        ibv_ack_async_event(&event);
        if (what == IBV_EVENT_DEVICE_FATAL || what == IBV_EVENT_QP_FATAL ||
            what == IBV_EVENT_CQ_ERR) {
            return Error{Blame::node, facts_.name + ": " + ibv_event_type_str(what)};
        }
    }
    if (errno != EAGAIN && errno != EINTR) {
        return failed(facts_.name, "asking for its events");
    }
    return check_membership();
}

/// The kernel ends memberships when a port or the subnet manager begins anew.
Status CorePort::check_membership() {
    rdma_cm_event* made = nullptr;
    while (rdma_get_cm_event(events_.get(), &made) == 0) {
        const Event event{made};
        if (event->event == RDMA_CM_EVENT_MULTICAST_ERROR ||
            event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
            return Error{Blame::node, facts_.name + ": " + rdma_event_str(event->event)};
        }
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<DevicePort>> open_device_port(const PortPlan& plan) {
    // The libraries print warnings where there is no device at all.
    const UniqueFd devices{::open("/sys/class/infiniband", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (names_in(devices.get()).empty()) {
        return Error{Blame::node, "this node has no RDMA device"};
    }
    Events events{rdma_create_event_channel()};
    if (events == nullptr) {
        return failed("/dev/infiniband/rdma_cm", "opening it");
    }
    rdma_cm_id* made = nullptr;
    if (rdma_create_id(events.get(), &made, nullptr, RDMA_PS_UDP) != 0) {
        return failed("RDMA", "making a communication identifier");
    }
    Id id{made};
    const SocketAddress own = plan.rail.address.with_port(0).to_socket();
    if (rdma_bind_addr(id.get(), const_cast<sockaddr*>(own.get())) != 0 ||
        id->verbs == nullptr) {
        return failed(plan.rail.name, "looking for its RDMA device");
    }
    auto port = std::make_unique<CorePort>(std::move(events), std::move(id), plan);
    TRY(port->open(plan.rail));
    return std::unique_ptr<DevicePort>{std::move(port)};
}

}  // namespace stage::verbs

#else

namespace stage::verbs {

Result<std::unique_ptr<DevicePort>> open_device_port(const PortPlan& /*plan*/) {
    return Error{Blame::node, "this build of stagecast has no RDMA"};
}

}  // namespace stage::verbs

#endif
