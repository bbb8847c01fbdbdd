# Included by the Makefile: installs the programs, and makes packages of them.
#
# The paths in etc/ are those of the defaults; another PREFIX, SYSCONFDIR or PLUGINDIR (the
# directory of Slurm's plugins) rewrites them.
PLUGINDIR ?= $(PREFIX)/lib/slurm
put     = $(if $1,install -D -m $2 $1 $(DESTDIR)$(strip $3))
rewrite = install -d $(DESTDIR)$(dir $2) && sed -e 's,/usr/lib/slurm/,@plugin@/,g' \
    -e 's,/usr/,$(PREFIX)/,g' -e 's,@plugin@,$(PLUGINDIR),g' -e 's,/etc/,$(SYSCONFDIR)/,g' $1 >$(DESTDIR)$2 && chmod 0644 $(DESTDIR)$2
plugstack := plugstack.conf.d/stagecast.conf
# Libraries for MPI programs, with a pkg-config file each.
LIBDIR ?= $(PREFIX)/lib
define put_mpi
	install -D -m 0644 $(BUILD)/libstagecast-mpi-$1.so $(DESTDIR)$(LIBDIR)/libstagecast-mpi-$1.so.0
	ln -sf libstagecast-mpi-$1.so.0 $(DESTDIR)$(LIBDIR)/libstagecast-mpi-$1.so
	install -D -m 0644 $(BUILD)/libstagecast-bcast-$1.so $(DESTDIR)$(LIBDIR)/libstagecast-bcast-$1.so.0
	ln -sf libstagecast-bcast-$1.so.0 $(DESTDIR)$(LIBDIR)/libstagecast-bcast-$1.so
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	umask 022; sed -e 's,@PREFIX@,$(PREFIX),g' -e 's,@LIBDIR@,$(LIBDIR),g' -e 's,@MPI@,$1,g' \
	    -e 's,@VERSION@,$(STAGECAST_VERSION),g' etc/stagecast-mpi.pc.in \
	    >$(DESTDIR)$(LIBDIR)/pkgconfig/stagecast-mpi-$1.pc

endef
# (Worker and PMIx host run as users: a process of a program that its user can't read is none
# that this user can trace, from exec on.)
install: programs
	$(call put,$(PLUGIN),0755,$(PLUGINDIR)/stagecast.so)
	$(call put,$(DAEMON),0755,$(PREFIX)/sbin/stagecastd)
	$(call put,$(COMMAND),0755,$(PREFIX)/bin/stagecast)
	$(call put,$(WORKER),0711,$(PREFIX)/libexec/stagecast/stagecast-worker)
	$(call put,$(HOST),0711,$(PREFIX)/libexec/stagecast/stagecast-pmix-host)
	$(call rewrite,etc/stagecastd.service,$(PREFIX)/lib/systemd/system/stagecastd.service)
	install -d $(DESTDIR)$(PREFIX)/share/man/man5 $(DESTDIR)$(SYSCONFDIR)/stagecast
	$(if $(DAEMON),umask 022; $(DAEMON) -m >$(DESTDIR)$(PREFIX)/share/man/man5/stagecast.conf.5)
	$(if $(DAEMON),umask 022; test -e $(DESTDIR)$(SYSCONFDIR)/stagecast/stagecast.conf || \
	    $(DAEMON) -p -c '' >$(DESTDIR)$(SYSCONFDIR)/stagecast/stagecast.conf)
	$(call put,docs/man/stagecast.1,0644,$(PREFIX)/share/man/man1/stagecast.1)
	$(call put,etc/bash-completion/stagecast,0644,\
	    $(PREFIX)/share/bash-completion/completions/stagecast)
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/stagecast docs/schemas/*.schema.json
	$(call put,docs/man/stagecastd.8,0644,$(PREFIX)/share/man/man8/stagecastd.8)
	$(call put,docs/man/stagecast-spank.7,0644,$(PREFIX)/share/man/man7/stagecast-spank.7)
	$(call rewrite,etc/$(plugstack),$(SYSCONFDIR)/slurm/$(plugstack))
	$(if $(MPI),install -D -m 0644 stager/mpi/stagecast.h $(DESTDIR)$(PREFIX)/include/stagecast.h)
	$(foreach one,$(mpis),$(call put_mpi,$(one)))

# The documents lie as in the sources, so that the links between them lead somewhere.
doc := $(PREFIX)/share/doc/stagecast
install-doc:
	install -D -m 0644 -t $(DESTDIR)$(doc) README.md CHANGELOG.md CONTRIBUTING.md LICENSE
	install -D -m 0644 -t $(DESTDIR)$(doc)/examples etc/examples/*
	tar -cf - --owner=0 --group=0 --mode=u=rwX,go=rX --exclude=docs/man --exclude=docs/schemas docs | tar -C $(DESTDIR)$(doc) -xf -

# The package of this Debian, for this Debian: it needs what its programs were linked with. Made
# by debhelper, beside the build, whose objects it takes; etc/debian/package says how.
deb: ready-to-package
	@$(MAKE) programs
	@MAKEFLAGS= etc/debian/package $(BUILD)/deb $(STAGECAST_VERSION)
# The source package of HEAD, for sbuild and its kin.
dsc: ready-to-package
	@BUILD_DEPENDS="$(strip $(deps_build))" etc/debian/package --source $(BUILD)/deb $(STAGECAST_VERSION)
# RPMs of the checkout, whose build they take; what they need to be built is only asked for where
# packages are RPMs. Without debug symbols elsewhere.
rpm:
	@$(MAKE) programs
	@MAKEFLAGS= etc/rpm $(BUILD)/rpm $(STAGECAST_VERSION)

# What a site has changed in its stagecast.conf stays, as do the files of jobs.
uninstall:
	$(if $(DAEMON),! $(DAEMON) -p -c '' | \
	    cmp -s - $(DESTDIR)$(SYSCONFDIR)/stagecast/stagecast.conf || \
	    rm $(DESTDIR)$(SYSCONFDIR)/stagecast/stagecast.conf)
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,sbin/stagecastd bin/stagecast \
	    lib/systemd/system/stagecastd.service share/man/man1/stagecast.1 \
	    share/man/man5/stagecast.conf.5 share/man/man7/stagecast-spank.7 \
	    share/man/man8/stagecastd.8 share/bash-completion/completions/stagecast) \
	    $(DESTDIR)$(PLUGINDIR)/stagecast.so $(DESTDIR)$(SYSCONFDIR)/slurm/$(plugstack)
	rm -rf $(addprefix $(DESTDIR)$(PREFIX)/,libexec/stagecast share/stagecast) $(DESTDIR)$(doc)
	rm -f $(DESTDIR)$(PREFIX)/include/stagecast.h $(addprefix $(DESTDIR)$(LIBDIR)/,$(foreach one,\
	    openmpi mpich,libstagecast-mpi-$(one).so libstagecast-mpi-$(one).so.0 \
	    libstagecast-bcast-$(one).so libstagecast-bcast-$(one).so.0 \
	    pkgconfig/stagecast-mpi-$(one).pc))
	-rmdir $(DESTDIR)$(SYSCONFDIR)/stagecast 2>/dev/null
