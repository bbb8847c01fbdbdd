// Tests parsing of stagecast.conf, and that every mistake is reported.
#include "stager/config/config.h"

#include "stager/config/key.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

using namespace stage;
using namespace std::chrono_literals;

namespace {

std::string sentence(std::string_view text) {
    const auto config = parse_config(text, "stagecast.conf");
    REQUIRE_FALSE(config);
    CHECK(config.error().blame() == Blame::node);
    return config.error().sentence();
}

Config good(std::string_view text) {
    auto config = parse_config(text, "stagecast.conf");
    INFO((config ? std::string{} : config.error().sentence()));
    REQUIRE(config);
    return *config;
}

/// A file that goes with the test.
class TemporaryFile {
  public:
    explicit TemporaryFile(std::string_view text, mode_t mode = 0600) {
        const UniqueFd fd{::mkstemp(name_.data())};
        REQUIRE(fd);
        REQUIRE(::write(fd.get(), text.data(), text.size()) ==
                static_cast<ssize_t>(text.size()));
        REQUIRE(::fchmod(fd.get(), mode) == 0);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { ::unlink(name_.c_str()); }
    [[nodiscard]] const std::string& path() const { return name_; }

  private:
    std::string name_ = "/tmp/stagecast-config-XXXXXX";
};

}  // namespace

TEST_CASE("a list of paths has commas, and other separators are refused") {
    for (const char* const list : {"/tmp;/var/tmp", "/tmp:/var/tmp", "/tmp /var/tmp"}) {
        CHECK(sentence("\nDestRoots=" + std::string{list}) ==
              "stagecast.conf, line 2: DestRoots=" + std::string{list} +
                  ": allowed: absolute paths separated by commas");
    }
    CHECK(good("PushRoots=/a;b, /c d").push_roots == std::vector<std::string>{"/a;b", "/c d"});
}

TEST_CASE("CacheDir and StageRoot lie beside each other, where there is a cache") {
    const std::string cache = "CacheSize=1G\nCacheDir=/local/stages/cache\n";
    CHECK(sentence("StageRoot=/local/stages\n" + cache) ==
          "stagecast.conf, line 3: CacheDir=/local/stages/cache and StageRoot=/local/stages "
          "contain one another; name separate directories");
    CHECK_THAT(sentence(cache + "StageRoot=/local/stages/cache/below"),
               Catch::StartsWith("stagecast.conf, line 3: CacheDir="));
    CHECK_THAT(sentence("CacheSize=1G\nStageRoot=/var/cache\n"),
               Catch::StartsWith("stagecast.conf, line 2: CacheDir=/var/cache/stagecast"));
    CHECK(good("StageRoot=/local/stage\n" + cache).cache_size > 0);
    CHECK(good("StageRoot=/var/cache\n").cache_size == 0);
}

TEST_CASE("an empty stagecast.conf is the defaults of the design") {
    const Config config = good("");
    CHECK(config == default_config());
    CHECK(config.enabled);
    CHECK(config.port == 6829);
    CHECK(config.stage_timeout == 600s);
    CHECK(config.stall_timeout == 30s);
    CHECK(config.connect_timeout == 5s);
    CHECK(config.protection == Protection::encrypt);
    CHECK(config.transport == Transport::automatic);
    CHECK(config.group_count() == 16);
    CHECK(config.interfaces.empty());
    CHECK_FALSE(config.slurm_user);
    CHECK(config.run_dir == "/run/stagecast");
}

TEST_CASE("keys are read as slurm.conf's are: case, blanks and comments aside") {
    const Config config = good(
        "# a site\n"
        "  stageroot = /local/stage/  # ours\r\n"
        "\n"
        "DESTROOTS=/tmp, /local/scratch\n"
        "RateMax=200mbit\nMaxBytes=10G\nStallTimeout=2.5\nPROTECTION=Auth\n"
        "MulticastGroups=239.1.2.3-239.1.2.4,239.9.9.9\nDataPortRange=7000-7010\n"
        "Interface=ib0,eth0\nTreeWidth=2\nEnabled=no\nSlurmUser=0\nDSCP=0\nLogLevel=debug");
    CHECK(config.stage_root == "/local/stage");
    CHECK(config.dest_roots == std::vector<std::string>{"/tmp", "/local/scratch"});
    CHECK(config.rate_max == 25'000'000);
    CHECK(config.max_bytes == 10ULL << 30U);
    CHECK(config.stall_timeout == 2500ms);
    CHECK(config.protection == Protection::auth);
    CHECK(config.group_count() == 3);
    CHECK(config.group_at(0) == 0xef010203U);
    CHECK(config.group_at(1) == 0xef010204U);
    CHECK(config.group_at(2) == 0xef090909U);
    CHECK(config.data_port_range == ConfigRange<std::uint16_t>{7000, 7010});
    CHECK(config.interfaces == std::vector<RailNames>{{"ib0"}, {"eth0"}});
    CHECK(config.tree_width == 2);
    CHECK_FALSE(config.enabled);
    CHECK(config.slurm_user == std::optional<uid_t>{0});
    CHECK(config.dscp == 0);
    CHECK(config.log_level == LogLevel::debug);
}

TEST_CASE("a mistake names file, line, key and the allowed values") {
    CHECK(sentence("\nTreeWidth=0\n") ==
          "stagecast.conf, line 2: TreeWidth=0: allowed: 1 to 256");
    CHECK(sentence("Protection=secret") ==
          "stagecast.conf, line 1: Protection=secret: allowed: none, auth, encrypt");
    CHECK(sentence("RateMax=200") ==
          "stagecast.conf, line 1: RateMax=200: allowed: a rate such as 200mbit, 1gbit or 25MB "
          "(per second), 8kbit to 8tbit");
    CHECK(sentence("StageTimout=5") ==
          "stagecast.conf, line 1: no key is called StageTimout; is StageTimeout meant?");
    CHECK_THAT(sentence("Whatever=5"), Catch::Contains("the keys are Enabled, NodeName"));
    CHECK(sentence("Port=1\nport=2") ==
          "stagecast.conf, line 2: Port is already set in line 1; keep one of the two");
    CHECK(sentence("Enabled") == "stagecast.conf, line 1: Enabled: a line is Key=Value");
    CHECK_THAT(sentence(std::string{"Port=1\0", 7}), Catch::Contains("NUL byte"));
    CHECK_THAT(sentence("SlurmUser=nobody-has-this-name"), Catch::Contains("a user of this"));
}

TEST_CASE("values out of their limits or of another kind are refused") {
    const char* const line = GENERATE("Port=0",
                                      "Port=65536",
                                      "Port=-1",
                                      "Port=68 29",
                                      "Port=",
                                      "StageRoot=",
                                      "StageRoot=relative",
                                      "StageRoot=/a/../b",
                                      "StageRoot=/a//b",
                                      "DestRoots=/tmp,,/var",
                                      "MulticastGroups=",
                                      "MulticastGroups=10.0.0.1",
                                      "MulticastGroups=224.0.0.1",
                                      "MulticastGroups=255.255.255.255",
                                      "MulticastGroups=239.1.2.3,broadcast",
                                      "MulticastGroups=239.1.2.4-239.1.2.3",
                                      "MulticastGroups=239.0.0.0-239.255.255.255",
                                      "DataPortRange=7000-6000",
                                      "DataPortRange=0-10",
                                      "DataPortRange=1-70000",
                                      "StageTimeout=0",
                                      "StageTimeout=-5",
                                      "StageTimeout=1e3",
                                      "StageTimeout=5d",
                                      "StageTimeout=99999999999999999999",
                                      "MaxBytes=-1",
                                      "MaxBytes=1.5",
                                      "MaxBytes=99999999T",
                                      "RateMax=25M",
                                      "RateMax=1bit",
                                      "RateMax=mbit",
                                      "RateMax=1..5gbit",
                                      "Flows=0",
                                      "Flows=17",
                                      "TTL=0",
                                      "DSCP=64",
                                      "LogLevel=",
                                      "LogLevel=loud",
                                      "Enabled=maybe",
                                      "Interface=eth0;reboot",
                                      "Interface=eth0,,eth1",
                                      "Interface=eth0+",
                                      "Interface=+",
                                      "Interface=eth0+eth1+eth0",
                                      "Interface=a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q",
                                      "AllowRamStageRoot=",
                                      "SlurmUser=4294967295",
                                      "NodeName=a b");
    CAPTURE(line);
    CHECK_THAT(sentence(line), Catch::StartsWith("stagecast.conf, line 1: "));
}

TEST_CASE("each flow needs a port") {
    CHECK(good("Flows=4\nDataPortRange=10-13\n").policies.flows == 4);
    const auto config = parse_config("Flows=5\nDataPortRange=10-13\n", "stagecast.conf");
    REQUIRE_FALSE(config);
    CHECK_THAT(config.error().sentence(),
               Catch::Contains("Flows=5") && Catch::Contains("DataPortRange"));
}

TEST_CASE("names joined by + are rails, used together") {
    const Config config = good("Interface=hsn0 + hsn1,eth0\n");
    CHECK(config.interfaces == std::vector<RailNames>{{"hsn0", "hsn1"}, {"eth0"}});
    CHECK(config.most_rails() == 2);
    CHECK_THAT(print_config(config), Catch::Contains("\nInterface=hsn0+hsn1,eth0\n"));
    CHECK(sentence("\nInterface=hsn0+hsn0\n") ==
          "stagecast.conf, line 2: Interface=hsn0+hsn0: allowed: names of network interfaces "
          "separated by commas, or up to 16 different ones joined by +");
}

TEST_CASE("each rail needs a port, and a neighbouring address of a range") {
    const std::string rails =
        "Interface=a+b+c\nMulticastGroups=239.1.1.1,239.2.1.1-239.2.1.4\n";
    const Config config = good(rails);
    REQUIRE(config.group_count(3) == 2);
    CHECK(config.group_at(0, 3) == 0xef020101U);
    CHECK(config.group_at(1, 3) == 0xef020102U);
    CHECK(config.group_count() == 5);
    const auto refused = [](const std::string& text) {
        const auto parsed = parse_config(text, "stagecast.conf");
        REQUIRE_FALSE(parsed);
        return parsed.error().sentence();
    };
    CHECK_THAT(refused(rails + "DataPortRange=10-11\n"),
               Catch::Contains("Interface=") && Catch::Contains("DataPortRange"));
    CHECK_THAT(refused("Interface=a+b\nMulticastGroups=239.1.1.1,239.1.1.3\n"),
               Catch::Contains("no range of 2 addresses"));
}

TEST_CASE("instead of groups the site may name all hosts of the LAN, for all rails alike") {
    const Config config = good("Interface=a+b\nMulticastGroups= Broadcast\n");
    CHECK(config.broadcasts());
    CHECK_FALSE(default_config().broadcasts());
    REQUIRE(config.group_count(2) == 1);
    CHECK(config.group_at(0, 2) == kBroadcastGroup);
    CHECK(good(print_config(config)) == config);
    CHECK_THAT(print_config(config), Catch::Contains("\nMulticastGroups=broadcast\n"));
}

TEST_CASE("the printed file parses to the same configuration") {
    const Config config = GENERATE_COPY(
        default_config(),
        good("Enabled=no\nNodeName=n1\nStageRoot=/x\nAllowRamStageRoot=yes\nDestRoots=\n"
             "PushRoots=/a,/b\nPushFrom=n[1-2,7],10.0.0.0/8\nPushSetId=yes\n"
             "ClusterName=a\nClusterKeys=b=/k/b,c=/k/c\nAcceptFrom=b,c\n"
             "Routes=b/gw1=192.0.2.7,b/gw2=2001:db8::1,c/x=192.0.2.9\n"
             "MaxBytes=12345\nMaxStagesPerNode=3\nRateMax=1.5gbit\n"
             "StageTimeout=20\nStallTimeout=1.25\nConnectTimeout=0.5\nAnnounceTimeout=7\n"
             "WatchInterval=0.1\nInterface=eth0+eth1,ib0\nMulticastGroups=239.1.1.1-239.1.1."
             "2\nPort=1\n"
             "DataPortRange=8-9\nProtection=none\nTransport=udp\nTreeWidth=2\nTTL=9\nDSCP=46\n"
             "Flows=1\nSocketBuffer=1M\nSpareHosts=0\nSlurmUser=64030\n"
             "AuthKeyFile=/etc/slurm/slurm.key\nMungeSocket=/m\nRunDir=/r\n"
             "LibexecDir=/l\nLogLevel=error\n"));
    const std::string printed = print_config(config);
    CHECK(good(printed) == config);
    for (const ConfigKey& key : config_keys()) {
        CHECK_THAT(printed,
                   Catch::Contains("\n" + std::string{key.name} + "=") ||
                       Catch::Contains("\n#" + std::string{key.name} + "="));
    }
}

TEST_CASE("the daemons' key file is a path, and none by default") {
    CHECK(default_config().auth_key_file.empty());
    CHECK(good("AuthKeyFile=/etc/slurm/slurm.key\n").auth_key_file == "/etc/slurm/slurm.key");
    CHECK(good("AuthKeyFile=\n").auth_key_file.empty());
    CHECK_THAT(sentence("AuthKeyFile=slurm.key\n"),
               Catch::Contains("allowed: an absolute path, or nothing"));
}

TEST_CASE("routes and keys of other clusters keep their order, and half of one is refused") {
    const Config config = good("Routes=b/gw2=192.0.2.8, b/gw1=192.0.2.7\nClusterKeys=b=/k/b\n");
    CHECK(config.routes ==
          std::vector<NamedText>{{"b/gw2", "192.0.2.8"}, {"b/gw1", "192.0.2.7"}});
    CHECK(config.cluster_keys == std::vector<NamedText>{{"b", "/k/b"}});
    for (const char* const wrong : {"Routes=b=192.0.2.7",
                                    "Routes=b/gw1",
                                    "Routes=b/gw1=gw1.example",
                                    "Routes=/gw1=192.0.2.7",
                                    "Routes=b/=192.0.2.7",
                                    "Routes=b/c/gw1=192.0.2.7",
                                    "ClusterKeys=b",
                                    "ClusterKeys=b=key",
                                    "ClusterKeys=b/n1=/k",
                                    "AcceptFrom=a/b"}) {
        CAPTURE(wrong);
        CHECK_FALSE(parse_config(std::string{wrong} + "\n", "conf"));
    }
}

TEST_CASE("every key has a unique name, a help text and an allowed default") {
    for (const ConfigKey& key : config_keys()) {
        CAPTURE(key.name);
        CHECK(find_key(key.name) == &key);
        CHECK(key.help.size() > 10);
        CHECK(key.help.back() == '.');
        CHECK(key.help.find("- ") == std::string_view::npos);  // A word broken in the sources.
        Config config;
        CHECK(read_into(key.kind, config, key.fallback));
        CHECK(text_of(key.kind, config) == key.fallback);
    }
}

TEST_CASE("a file is loaded only if no user but root could have written it") {
    const TemporaryFile file{"Port=7777\n"};
    const auto config = load_config(file.path());
    REQUIRE(config);
    CHECK(config->port == 7777);

    const TemporaryFile writable{"Port=7777\n", 0666};
    const auto refused = load_config(writable.path());
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().sentence(), Catch::Contains("can be written by others"));

    const auto absent = load_config("/nonexistent/stagecast.conf");
    REQUIRE_FALSE(absent);
    CHECK(absent.error().cause() == ENOENT);
    CHECK_FALSE(load_config("/tmp"));
}

TEST_CASE("the manual page names every key, and troff takes it for text") {
    const std::string page = print_manual();
    for (const ConfigKey& key : config_keys()) {
        CHECK_THAT(page, Catch::Contains(".BR " + std::string{key.name} + " =\n"));
    }
    for (std::size_t at = page.find("\n."); at != std::string::npos;
         at = page.find("\n.", at + 1)) {
        CAPTURE(page.substr(at + 1, 20));
        const std::string request = page.substr(at + 2, 2);
        const bool is_macro = std::isupper(static_cast<unsigned char>(request.front())) != 0;
        CHECK((is_macro || request == "nf" || request == "fi" || request == "br"));
    }
}
