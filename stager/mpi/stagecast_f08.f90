! libstagecast-mpi for Fortran programs that use mpi_f08: see stagecast.h.
!
! The module belongs to a compiler, so compile this file with the program:
!     mpifort stagecast_f08.f90 prog.f90 $(pkg-config --libs stagecast-mpi-openmpi)
module stagecast_f08
  use, intrinsic :: iso_c_binding
  use mpi_f08, only: MPI_Comm
  implicit none
  private
  public :: bcast_file, stagecast_error
  integer, parameter, public :: stagecast_leave = 1, stagecast_newer = 2, stagecast_overwrite = 3

  interface
    integer(c_int) function bcast_file_c(comm, src, dst, root, flag, each) bind(c, name='stagecast_bcast_file_f')
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: src(*), dst(*)
      integer(c_int), value :: comm, root, flag, each
    end function
    type(c_ptr) function error_c() bind(c, name='stagecast_error')
      import :: c_ptr
    end function
    integer(c_size_t) function strlen(text) bind(c)
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! Collective. 0 on all ranks, or 1 on all ranks and stagecast_error() has the reason. Trailing blanks of names do not
  ! count.
  integer function bcast_file(comm, src, dst, flag, root, on_each_node) result(failed)
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in) :: src
    character(len=*), intent(in), optional :: dst
    integer, intent(in), optional :: flag, root
    logical, intent(in), optional :: on_each_node
    character(len=:), allocatable :: name
    integer(c_int) :: what, from, each

    name = ''
    what = stagecast_leave
    from = 0
    each = 0
    if (present(dst)) name = trim(dst)
    if (present(flag)) what = int(flag, c_int)
    if (present(root)) from = int(root, c_int)
    if (present(on_each_node)) each = merge(1_c_int, 0_c_int, on_each_node)
    failed = bcast_file_c(int(comm%mpi_val, c_int), trim(src)//c_null_char, name//c_null_char, from, what, each)
  end function

  function stagecast_error() result(text)
    character(len=:), allocatable :: text
    type(c_ptr) :: from
    character(kind=c_char), pointer :: letters(:)
    integer :: i, length

    from = error_c()
    length = int(strlen(from))
    call c_f_pointer(from, letters, [length])
    allocate(character(len=length) :: text)
    do i = 1, length
      text(i:i) = letters(i)
    end do
  end function
end module
