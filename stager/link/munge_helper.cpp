// Runs libmunge's blocking calls in the helper process, one after the other (munge_client.h).
#include "stager/link/key_credentials.h"
#include "stager/link/munge_client.h"
#include "transport/base/codec.h"

#include <munge.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>

namespace stage {
namespace {

constexpr std::size_t kQuestionMax = 64U << 10U;
constexpr std::uint8_t kAskSeal = 1;
constexpr std::uint8_t kAskOpen = 2;

struct ContextFree {
    void operator()(munge_ctx_t context) const { ::munge_ctx_destroy(context); }
};
using Context = std::unique_ptr<munge_ctx, ContextFree>;

struct Freed {
    // libmunge allocates with malloc, and its caller has to free.
    void operator()(void* bytes) const { std::free(bytes); }  // NOLINT
};

/// Makes a new context for every question: decoding overwrites its settings.
Context new_context(const std::string& socket) {
    Context context{::munge_ctx_create()};
    if (context != nullptr && !socket.empty()) {
        ::munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str());
    }
    return context;
}

std::string words_of(const Context& context, munge_err_t error) {
    const char* words = ::munge_ctx_strerror(context.get());
    return words != nullptr ? words : ::munge_strerror(error);
}

std::vector<std::byte> failure(const std::string& sentence) {
    ByteWriter out;
    out.u8(1).text(sentence);
    return out.take();
}

std::string silent(const Context& context, munge_err_t error) {
    return "munge on this node does not answer (" + words_of(context, error) +
           "); is munged running? A cluster without munge needs AuthKeyFile= in stagecast.conf";
}

std::vector<std::byte> seal(const std::string& socket, Bytes payload) {
    const Context context = new_context(socket);
    constexpr uid_t kRoot = 0;
    // The cipher is set, so that a munged configured for "none" does not reveal the secrets.
    if (context == nullptr ||
        ::munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, kRoot) != EMUNGE_SUCCESS ||
        ::munge_ctx_set(context.get(), MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128) !=
            EMUNGE_SUCCESS) {
        return failure("cannot set up libmunge");
    }
    char* made = nullptr;
    const munge_err_t error =
        ::munge_encode(&made, context.get(), payload.data(), static_cast<int>(payload.size()));
    const std::unique_ptr<char, Freed> credential{made};
    if (error != EMUNGE_SUCCESS) {
        return failure(silent(context, error));
    }
    ByteWriter out;
    out.u8(0).text(credential.get());
    return out.take();
}

CredentialState state_of(munge_err_t error) {
    switch (error) {
        case EMUNGE_SUCCESS:
        case EMUNGE_CRED_REPLAYED:
            return CredentialState::valid;
        case EMUNGE_CRED_EXPIRED:
            return CredentialState::expired;
        case EMUNGE_CRED_REWOUND:
            return CredentialState::rewound;
        default:
            return CredentialState::refused;
    }
}

std::uint64_t time_of(const Context& context, munge_opt_t option) {
    time_t time = 0;
    if (::munge_ctx_get(context.get(), option, &time) != EMUNGE_SUCCESS) {
        time = 0;
    }
    return static_cast<std::uint64_t>(time);
}

/// The answer about a credential that munge can't have made, whether munged runs or not.
std::vector<std::byte> refusal(const std::string& why) {
    ByteWriter out;
    out.u8(0).u8(static_cast<std::uint8_t>(CredentialState::refused));
    out.u32(static_cast<std::uint32_t>(-1)).u64(0).u64(0).blob({}).text(why);
    return out.take();
}

std::vector<std::byte> open(const std::string& socket, Bytes text) {
    std::string credential;
    for (const std::byte byte : text) {
        credential += static_cast<char>(byte);
    }
    if (credential.starts_with(kKeyPrefix)) {
        return refusal("it was made by a key file, and this node uses munge");
    }
    const Context context = new_context(socket);
    if (context == nullptr) {
        return failure("cannot set up libmunge");
    }
    void* bytes = nullptr;
    int length = 0;
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
    const munge_err_t error =
        ::munge_decode(credential.c_str(), context.get(), &bytes, &length, &uid, &gid);
    const std::unique_ptr<void, Freed> payload{bytes};
    if (error == EMUNGE_SOCKET || error == EMUNGE_TIMEOUT || error == EMUNGE_SNAFU ||
        error == EMUNGE_NO_MEMORY) {
        return failure(silent(context, error));
    }
    ByteWriter out;
    out.u8(0).u8(static_cast<std::uint8_t>(state_of(error))).u32(uid);
    out.u64(time_of(context, MUNGE_OPT_ENCODE_TIME));
    out.u64(time_of(context, MUNGE_OPT_DECODE_TIME));
    out.blob({static_cast<const std::byte*>(payload.get()), static_cast<std::size_t>(length)});
    out.text(error == EMUNGE_SUCCESS ? std::string{} : "munge: " + words_of(context, error));
    return out.take();
}

}  // namespace

int run_munge_helper(int fd, const std::string& socket) {
    std::array<std::byte, kQuestionMax> question{};
    while (true) {
        const ssize_t got = ::recv(fd, question.data(), question.size(), 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? 0 : 1;
        }
        ByteReader reader{Bytes{question}.first(static_cast<std::size_t>(got))};
        const std::uint8_t ask = reader.u8();
        const Bytes rest = reader.raw(reader.left());
        std::vector<std::byte> reply = failure("malformed question to the munge helper");
        if (ask == kAskSeal) {
            reply = seal(socket, rest);
        } else if (ask == kAskOpen) {
            reply = open(socket, rest);
        }
        if (::send(fd, reply.data(), reply.size(), MSG_NOSIGNAL) < 0) {
            return 1;
        }
    }
}

}  // namespace stage
