! Broadcasts from Fortran, by both of its bindings, while other ranks make the same call in C.
!
!     fortran COUNT     communicators one after the other; each has a long message and some short ones
!
! Prints what checks.h says. (MPI_Finalize of MPICH: see there.)
program fortran
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr
  implicit none
  interface
    subroutine broadcast_from_c(values, count, root, comm) bind(c)
      import :: c_int
      integer(c_int) :: values(*)
      integer(c_int), value :: count, root, comm
    end subroutine
    subroutine leave_late() bind(c)
    end subroutine
  end interface
  external :: broadcast_old
  integer, parameter :: lengths(4) = [1, 300, 2000, 40000]
  integer :: values(40000)
  type(MPI_Comm) :: made
  character(len=16) :: word
  integer :: count, i, k, rank, ranks, wrong

  call get_command_argument(1, word)
  read (word, *) count
  wrong = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  do i = 1, count
    call MPI_Comm_dup(MPI_COMM_WORLD, made)
    do k = 1, size(lengths)
      call one(made, lengths(k), mod(i + k, ranks), mod(rank + i + k, 3))
    end do
    call MPI_Comm_free(made)
  end do
  do k = 1, size(lengths)
    call one(MPI_COMM_WORLD, lengths(k), mod(k, ranks), mod(rank + k, 3))
  end do
  if (wrong == 0) print '(a,i0,a)', 'rank ', rank, ': ok'
  flush (6)
  call leave_late()
  call MPI_Finalize()

contains

  subroutine one(comm, length, root, way)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: length, root, way
    integer :: own, n

    call MPI_Comm_rank(comm, own)
    values = -1
    if (own == root) values(1:length) = [(7 * n + root, n=1, length)]
    select case (way)
    case (0)
      call MPI_Bcast(values, length, MPI_INTEGER, root, comm)
    case (1)
      call broadcast_old(values, length, root, comm%mpi_val)
    case default
      call broadcast_from_c(values, length, root, comm%mpi_val)
    end select
    if (any(values(1:length) /= [(7 * n + root, n=1, length)]) .or. any(values(length + 1:) /= -1)) then
      print '(a,i0,a,i0,a,i0)', 'rank ', rank, ': wrong, length ', length, ', way ', way
      wrong = wrong + 1
    end if
  end subroutine
end program

subroutine broadcast_old(values, length, root, comm)
  use mpi
  implicit none
  integer :: values(*), length, root, comm, error

  call MPI_BCAST(values, length, MPI_INTEGER, root, comm, error)
end subroutine
