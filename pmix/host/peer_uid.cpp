#include "pmix/host/peer_uid.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace stage::pmix_host {
namespace {

struct Question {
    nlmsghdr head{};
    inet_diag_req_v2 body{};
};

Error unknown(const std::string& why, int cause) {
    return Error::from_errno(Blame::node, "asking whose connection it is: " + why, cause);
}

/// The connection from the view of its other end: that end is the source address.
Result<Question> question_about(int accepted) {
    sockaddr_in theirs{};
    sockaddr_in ours{};
    socklen_t theirs_length = sizeof(theirs);
    socklen_t ours_length = sizeof(ours);
    if (::getpeername(accepted, reinterpret_cast<sockaddr*>(&theirs), &theirs_length) != 0 ||
        ::getsockname(accepted, reinterpret_cast<sockaddr*>(&ours), &ours_length) != 0) {
        return unknown("getpeername", errno);
    }
    Question question;
    question.head.nlmsg_len = sizeof(question);
    question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.head.nlmsg_flags = NLM_F_REQUEST;
    question.body.sdiag_family = AF_INET;
    question.body.sdiag_protocol = IPPROTO_TCP;
    question.body.idiag_states = ~0U;
    inet_diag_sockid& id = question.body.id;
    id.idiag_sport = theirs.sin_port;
    id.idiag_dport = ours.sin_port;
    id.idiag_src[0] = theirs.sin_addr.s_addr;
    id.idiag_dst[0] = ours.sin_addr.s_addr;
    id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return question;
}

}  // namespace

Result<PeerUid> PeerUid::open() {
    UniqueFd netlink{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
    // The kernel normally answers synchronously; one second is the limit for one that does not.
    const timeval second{.tv_sec = 1, .tv_usec = 0};
    if (!netlink ||
        ::setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)) != 0) {
        return unknown("sock_diag", errno);
    }
    return PeerUid{std::move(netlink)};
}

Result<uid_t> PeerUid::of(int accepted) const {
    TRY(const auto question, question_about(accepted));
    if (::send(netlink_.get(), &question, sizeof(question), 0) < 0) {
        return unknown("send", errno);
    }
    alignas(nlmsghdr) std::array<char, 4096> room{};
    const ssize_t count = ::recv(netlink_.get(), room.data(), room.size(), 0);
    nlmsghdr head{};
    if (count < static_cast<ssize_t>(sizeof(head))) {
        return unknown("recv", count < 0 ? errno : EPROTO);
    }
    std::memcpy(&head, room.data(), sizeof(head));
    inet_diag_msg answer{};
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        count < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof(answer))) {
        nlmsgerr error{};
        if (head.nlmsg_type == NLMSG_ERROR) {
            std::memcpy(&error, room.data() + NLMSG_HDRLEN, sizeof(error.error));
        }
        return unknown("no such connection", error.error != 0 ? -error.error : EPROTO);
    }
    std::memcpy(&answer, room.data() + NLMSG_HDRLEN, sizeof(answer));
    return answer.idiag_uid;
}

}  // namespace stage::pmix_host
