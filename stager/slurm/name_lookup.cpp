#include "stager/slurm/name_lookup.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace stage {
namespace {

/// A name server answers in milliseconds: 16 parallel look-ups are 2,000 a second.
constexpr std::size_t kThreadsMax = 16;

struct AddressesFree {
    void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};

/// Prefers IPv4; getaddrinfo() returns IPv6 first.
const addrinfo& chosen(const addrinfo& first) {
    for (const addrinfo* one = &first; one != nullptr; one = one->ai_next) {
        if (one->ai_family == AF_INET) {
            return *one;
        }
    }
    return first;
}

/// Shared by the threads and their caller; it lives as long as the last of them.
struct Round {
    std::vector<NodeName> names;
    LookUp one;
    std::mutex mutex;  // Guards what follows.
    std::condition_variable changed;
    std::size_t next = 0;
    std::size_t done = 0;
    std::vector<std::optional<Result<std::string>>> answers;
};

void work(const std::shared_ptr<Round>& round) {
    std::unique_lock lock{round->mutex};
    while (round->next < round->names.size()) {
        const std::size_t mine = round->next++;
        lock.unlock();
        auto answer = round->one(round->names[mine]);
        lock.lock();
        round->answers[mine] = std::move(answer);
        ++round->done;
    }
    round->changed.notify_all();
}

}  // namespace

Result<std::string> look_up(const NodeName& name) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int failed = ::getaddrinfo(name.address.c_str(), nullptr, &hints, &list);
    const std::unique_ptr<addrinfo, AddressesFree> found{list};
    std::array<char, NI_MAXHOST> text{};
    const addrinfo* one = failed == 0 ? &chosen(*found) : nullptr;
    if (one == nullptr || ::getnameinfo(one->ai_addr,
                                        one->ai_addrlen,
                                        text.data(),
                                        text.size(),
                                        nullptr,
                                        0,
                                        NI_NUMERICHOST) != 0) {
        return Error{Blame::node,
                     "node " + name.node + ": its NodeAddr " + name.address +
                         " has no address (" + ::gai_strerror(failed) + ")"};
    }
    return std::string{text.data()};
}

std::vector<Result<std::string>> look_up_all(std::vector<NodeName> names,
                                             Duration within,
                                             LookUp one) {
    const auto round = std::make_shared<Round>();
    const std::size_t count = names.size();
    round->names = std::move(names);
    round->one = std::move(one);
    round->answers.resize(count);
    try {
        for (std::size_t i = 0; i < std::min(count, kThreadsMax); ++i) {
            std::thread{[round] { work(round); }}.detach();
        }
    } catch (const std::system_error&) {
        // The threads that were started do all. Without any, each answer is a time-out.
    }
    std::unique_lock lock{round->mutex};
    round->changed.wait_for(lock, within, [&] { return round->done == count; });
    std::vector<Result<std::string>> answers;
    for (std::size_t i = 0; i < count; ++i) {
        const NodeName& name = round->names[i];
        answers.push_back(round->answers[i].value_or(Error{
            Blame::node,
            "node " + name.node + ": the look-up of its NodeAddr " + name.address +
                " took too long; is the name server slow? Numeric addresses as NodeAddr in "
                "slurm.conf, or entries in /etc/hosts, avoid the look-up"}));
    }
    round->next = count;  // No thread begins another one.
    return answers;
}

}  // namespace stage
