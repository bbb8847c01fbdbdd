// Fuzzes the login between daemons: no unauthorised peer logs in, and no change goes unnoticed.
//
// The first byte chooses. Attack: one end meets the input's messages, and credentials that
// munge answers for as the input says; it may hand out keys only for a valid one of root's that
// holds its own nonce. Tamper: two honest ends, and a byte changed in one message between them:
// they never come to the same keys.
#include "stager/link/handshake.h"
#include "stager/link/key_exchange.h"
#include "tests/fuzz/fuzz.h"

#include <map>

namespace stage {
namespace {

constexpr uid_t kOtherUser = 1000;

Handshake::Start start_of(LinkRole role) {
    const bool connects = role == LinkRole::connector;
    Handshake::Start start{.role = role,
                           .own_name = connects ? "n0" : "n1",
                           .peer_name = connects ? "n1" : "",
                           .versions = {.lowest = kLinkVersionMin, .highest = kLinkVersionMax},
                           .trusted_uids = {0}};
    start.private_key.fill(connects ? std::byte{0xc5} : std::byte{0xa5});
    start.nonce.fill(connects ? std::byte{0xc1} : std::byte{0xa1});
    return start;
}

bool contains(Bytes bytes, Bytes part) {
    return std::search(bytes.begin(), bytes.end(), part.begin(), part.end()) != bytes.end();
}

bool equal(const LinkKeys& one, const LinkKeys& other) {
    return one.to_acceptor.key == other.to_acceptor.key &&
           one.to_connector.key == other.to_connector.key;
}

// ---- attack

class Attack {
  public:
    explicit Attack(LinkRole role) : role_{role}, end_{start_of(role)} {}

    /// True if it got as far as a credential.
    bool run(ByteReader& reader) {
        static_cast<void>(end_.begin());
        while (alive_ && reader.left() > 0) {
            if (end_.expects_message()) {
                on(end_.on_message(message(reader)));
            } else if (opening_) {
                on_open(reader);
            } else if (sealing_) {
                sealing_ = false;
                on(end_.on_sealed("MUNGE:of this end:"));
            } else {
                break;
            }
        }
        return far_;
    }

  private:
    static std::vector<std::byte> message(ByteReader& reader) {
        const std::size_t wanted = reader.u16();
        return owned(reader.raw(std::min(wanted, reader.left())));
    }

    void on_open(ByteReader& reader) {
        OpenedCredential opened;
        opened.state = static_cast<CredentialState>(reader.u8() % 4);
        opened.uid = reader.u8() % 2 == 0 ? 0 : kOtherUser;
        opened.encoded_at = static_cast<std::int64_t>(reader.u64());
        opened.decoded_at = static_cast<std::int64_t>(reader.u64());
        opened.payload = message(reader);
        good_ = opened.state == CredentialState::valid && opened.uid == 0 &&
                contains(opened.payload, start_of(role_).nonce);
        opening_ = false;
        on(end_.on_opened(opened));
    }

    void on(const Result<Handshake::Step>& step) {
        alive_ = step.ok();
        if (!step) {
            invariant(!step.error().sentence().empty(), "a login is refused with a sentence");
            const auto& refusal = end_.refusal();
            invariant(!refusal || encode_refusal(*refusal).size() <= kGreetingMax,
                      "a refusal is a message");
            return;
        }
        invariant(!step->keys || good_, "keys are for root's own fresh credential");
        opening_ = !step->open.empty();
        sealing_ = !step->seal.empty();
        far_ = far_ || opening_;
    }

    LinkRole role_;
    Handshake end_;
    bool alive_ = true;
    bool opening_ = false;
    bool sealing_ = false;
    bool good_ = false;  ///< The credential opened last may be trusted.
    bool far_ = false;
};

// ---- tamper

struct Change {
    std::size_t message = 0;  ///< The how-manieth of the whole login; none: nothing is changed.
    std::size_t at = 0;
    std::byte flip{};
};

/// Two ends, their munge and what lies between.
class Login {
  public:
    explicit Login(Change change) : change_{change} {}

    void run() {
        on(connector_, connector_.begin(), connector_keys_);
        for (int turn = 0; turn < 8; ++turn) {
            deliver(acceptor_, to_acceptor_, acceptor_keys_);
            deliver(connector_, to_connector_, connector_keys_);
        }
    }

    [[nodiscard]] bool agreed() const {
        return connector_keys_ && acceptor_keys_ && equal(*connector_keys_, *acceptor_keys_);
    }
    [[nodiscard]] std::size_t messages() const { return sent_; }

  private:
    using Keys = std::optional<LinkKeys>;

    void deliver(Handshake& end, std::vector<std::byte>& stream, Keys& keys) {
        ByteReader reader{stream};
        const auto message = owned(reader.blob(kGreetingMax));
        if (message.empty() || !end.expects_message()) {
            return;
        }
        stream = owned(Bytes{stream}.last(reader.left()));
        on(end, end.on_message(message), keys);
    }

    // NOLINTNEXTLINE(misc-no-recursion): a step asks munge at most twice.
    void on(Handshake& end, const Result<Handshake::Step>& step, Keys& keys) {
        if (!step) {
            return;
        }
        if (step->keys) {
            keys = step->keys;
        }
        send(end, step->send);
        if (!step->seal.empty()) {
            const std::string credential = "MUNGE:" + std::to_string(sealed_.size()) + ':';
            sealed_[credential] = step->seal;
            on(end, end.on_sealed(credential), keys);
        }
        if (!step->open.empty()) {
            on(end, end.on_opened(opened(step->open)), keys);
        }
    }

    void send(const Handshake& from, std::vector<std::byte> bytes) {
        if (bytes.empty()) {
            return;
        }
        if (++sent_ == change_.message) {
            bytes[change_.at % bytes.size()] ^= change_.flip;
        }
        auto& stream = from.role() == LinkRole::connector ? to_acceptor_ : to_connector_;
        stream.insert(stream.end(), bytes.begin(), bytes.end());
    }

    OpenedCredential opened(const std::string& credential) {
        const auto found = sealed_.find(credential);
        OpenedCredential opened;
        if (found != sealed_.end()) {
            opened.state = CredentialState::valid;
            opened.uid = 0;
            opened.payload = found->second;
        }
        return opened;
    }

    Change change_;
    Handshake connector_{start_of(LinkRole::connector)};
    Handshake acceptor_{start_of(LinkRole::acceptor)};
    std::vector<std::byte> to_acceptor_;
    std::vector<std::byte> to_connector_;
    Keys connector_keys_;
    Keys acceptor_keys_;
    std::map<std::string, std::vector<std::byte>> sealed_;
    std::size_t sent_ = 0;
};

bool tamper(ByteReader& reader) {
    Change change;
    change.message = reader.u8() % 5U;
    change.at = reader.u16();
    change.flip = static_cast<std::byte>(reader.u8());
    Login login{change};
    login.run();
    const bool altered = change.message != 0 && change.flip != std::byte{};
    invariant(login.agreed() || altered, "two honest ends come to the same keys");
    invariant(!login.agreed() || !altered, "a changed byte leads to no common keys");
    return login.agreed();
}

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader reader{input};
    const std::uint8_t choice = reader.u8() % 3;
    if (choice == 2) {
        return tamper(reader);
    }
    return Attack{static_cast<LinkRole>(choice)}.run(reader);
}

std::vector<FuzzSeed> fuzz_seeds() {
    // The connector's own messages, as they meet an acceptor, and what munge makes of them.
    auto greeting = Handshake{start_of(LinkRole::connector)}.begin().send;
    greeting.erase(greeting.begin(), greeting.begin() + 4);
    const auto credential = ByteWriter{}.u8(2).text("MUNGE:credential:").take();
    ByteWriter payload;
    payload.u32(0x53434331U).u8(0).u16(kLinkVersionMin).u16(kLinkVersionMax);
    const auto connector = start_of(LinkRole::connector);
    payload.raw(public_key(connector.private_key)).raw(connector.nonce);
    payload.raw(start_of(LinkRole::acceptor).nonce).text("n0").text("n1");
    ByteWriter attack;
    attack.u8(1);
    for (const auto& message : {greeting, credential}) {
        attack.u16(static_cast<std::uint16_t>(message.size())).raw(message);
    }
    attack.u8(0).u8(0).u64(0).u64(0);
    attack.u16(static_cast<std::uint16_t>(payload.size())).raw(payload.view()).u8(0);
    return {{"acceptor_login", attack.take()},
            {"tamper_none", ByteWriter{}.u8(2).u8(0).u16(0).u8(0).take()}};
}

}  // namespace stage
