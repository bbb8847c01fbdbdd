// Shared by tests of links: both daemons in one process, over real sockets, with real or
// simulated munge, and time that stands still unless a test moves it.
#pragma once

#include "stager/link/link.h"
#include "stager/link/listener.h"
#include "stager/link/munge_client.h"
#include "transport/base/codec.h"

#include <catch2/catch.hpp>

#include <poll.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace stage {

/// Munge without munged: answers when a test lets it. `bend` changes what is found in a
/// credential.
class FalseMunge : public Credentials {
  public:
    std::function<void(OpenedCredential&)> bend = [](OpenedCredential&) {};

    Ticket seal(const std::string& /*peer*/, Bytes payload, OnSealed done) override {
        const std::string name = "FALSE" + std::to_string(made_.size());
        made_[name].assign(payload.begin(), payload.end());
        waiting_.push_back({++last_, [name, done = std::move(done)] { done(name); }});
        return last_;
    }
    Ticket open(const std::string& /*peer*/, std::string credential, OnOpened done) override {
        waiting_.push_back({++last_, [this, credential, done = std::move(done)] {
                                OpenedCredential opened{.state = CredentialState::valid,
                                                        .uid = 0,
                                                        .payload = made_[credential],
                                                        .sentence = {}};
                                bend(opened);
                                done(opened);
                            }});
        return last_;
    }
    void cancel(Ticket ticket) override {
        std::erase_if(waiting_, [ticket](const auto& entry) { return entry.first == ticket; });
    }
    [[nodiscard]] CredentialRemedies remedies(const std::string& /*peer*/) const override {
        return {.differs = "is munge.key the same on both nodes?",
                .silent = "is munged running there?"};
    }
    /// Answers all that has been asked; false if there was nothing.
    bool answer() {
        bool any = false;
        while (!waiting_.empty()) {
            const auto next = std::move(waiting_.front());
            waiting_.pop_front();
            next.second();
            any = true;
        }
        return any;
    }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

  private:
    std::map<std::string, std::vector<std::byte>> made_;
    std::deque<std::pair<Ticket, std::function<void()>>> waiting_;
    Ticket last_ = 0;
};

inline Address loopback(std::uint16_t port) {
    auto address = Address::parse("127.0.0.1", port);
    REQUIRE(address);
    return *address;
}

inline std::string text_of(const std::vector<std::byte>& frame) {
    std::string text;
    for (const std::byte byte : frame) {
        text += static_cast<char>(byte);
    }
    return text;
}

inline std::string error_of(const Link& link) {
    return link.error() ? link.error()->sentence() : std::string{"(none)"};
}

/// A listening daemon "n3", connectors "n0" to it, and the loop that drives them all.
class LinkWorld {
  public:
    explicit LinkWorld(Credentials& connector_munge, Credentials& acceptor_munge)
        : connector_munge_{connector_munge}, acceptor_munge_{acceptor_munge} {
        connector_policy.node_name = "n0";
        acceptor_policy.node_name = "n3";
        auto opened = Listener::open(0, acceptor_policy, acceptor_munge_, log_);
        REQUIRE(opened);
        listener.emplace(std::move(*opened));
    }

    Link& connect(std::string name = "n3") {
        links.push_back(Link::connect(connector_policy,
                                      connector_munge_,
                                      std::move(name),
                                      loopback(listener->port()),
                                      now));
        return *links.back();
    }

    /// Serves all sockets until `done`; a test that waits in vain fails.
    void until(const std::function<bool()>& done) {
        constexpr int kTimeout = 20'000;
        while (!done()) {
            if (serve && serve()) {
                continue;
            }
            std::vector<pollfd> polled = sockets();
            REQUIRE(::poll(polled.data(), polled.size(), kTimeout) > 0);
            dispatch(polled);
        }
    }
    void until_open(const Link& link) {
        until([&] {
            return link.state() != Link::State::connecting &&
                   link.state() != Link::State::authenticating;
        });
        INFO(error_of(link));
        REQUIRE(link.state() == Link::State::open);
        until(
            [&] { return !accepted.empty() && accepted.back()->state() == Link::State::open; });
    }
    void until_closed(const Link& link) {
        until([&] { return link.state() == Link::State::closed; });
    }
    std::string next_frame(Link& link) {
        std::optional<std::vector<std::byte>> frame;
        until([&] { return (frame = link.receive()) || link.state() == Link::State::closed; });
        return frame ? text_of(*frame) : "(closed: " + error_of(link) + ")";
    }

    Instant now{std::chrono::hours{1}};
    LinkPolicy connector_policy;
    LinkPolicy acceptor_policy;
    std::optional<Listener> listener;
    std::vector<std::unique_ptr<Link>> links;     ///< Connectors.
    std::vector<std::unique_ptr<Link>> accepted;  ///< Acceptors.
    std::vector<std::string> log_lines;
    std::function<bool()> serve;       ///< Before each wait; true if it changed something.
    std::vector<MungeClient*> munges;  ///< Real ones to drive.

  private:
    std::vector<pollfd> sockets() {
        std::vector<pollfd> polled{{.fd = listener->fd(), .events = POLLIN, .revents = 0}};
        const auto add = [&polled](const Link& link) {
            const short events = link.wants_write() ? POLLIN | POLLOUT : POLLIN;
            polled.push_back({.fd = link.fd(), .events = events, .revents = 0});
        };
        for (const auto& link : links) {
            add(*link);
        }
        for (const auto& link : accepted) {
            add(*link);
        }
        for (const MungeClient* munge : munges) {
            polled.push_back({.fd = munge->fd(), .events = POLLIN, .revents = 0});
        }
        return polled;
    }
    void dispatch(const std::vector<pollfd>& polled) {
        std::size_t at = 1;
        const auto serve_link = [&](Link& link) {
            const pollfd& entry = polled[at++];
            if ((entry.revents & (POLLIN | POLLERR | POLLHUP)) != 0) {
                link.on_readable(now);
            }
            if ((entry.revents & POLLOUT) != 0) {
                link.on_writable(now);
            }
        };
        for (const auto& link : links) {
            serve_link(*link);
        }
        for (const auto& link : accepted) {
            serve_link(*link);
        }
        for (MungeClient* munge : munges) {
            if (polled[at++].revents != 0) {
                munge->on_readable(now);
            }
        }
        if (polled[0].revents != 0) {
            for (auto& link : listener->accept(now)) {
                accepted.push_back(std::move(link));
            }
        }
        for (const auto& link : accepted) {
            if (link->state() == Link::State::open || link->state() == Link::State::closed) {
                listener->settle(*link, now);
            }
        }
    }

    Credentials& connector_munge_;
    Credentials& acceptor_munge_;
    Logger log_{[this](LogLevel, std::string_view line) { log_lines.emplace_back(line); },
                LogLevel::info};
};

}  // namespace stage
