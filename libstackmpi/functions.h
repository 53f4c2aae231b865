/* SPDX-License-Identifier: MIT */
/*
 * The functions of MPI that libstackmpi has. The entries (arch/NAME/mpi_entry.S) and the table of
 * function.c are made of these lists, in the order of MPI_ALL_FUNCTIONS.
 *
 * Those for C are the ones that both Open MPI and MPICH have, since a program may ask at run time
 * whether its MPI has a function. MPI_Pcontrol() is not among them: it has any number of arguments.
 * Those for Fortran have the result as a further argument, and the lengths of strings behind all.
 */
#ifndef LIBSTACKMPI_FUNCTIONS_H
#define LIBSTACKMPI_FUNCTIONS_H

/* X(name without its first part, number of arguments for C) */

/* clang-format off */
#define MPI_C_FUNCTIONS(X) \
	X(Abort, 2) X(Accumulate, 9) X(Add_error_class, 1) X(Add_error_code, 2) \
	X(Add_error_string, 2) X(Allgather, 7) X(Allgatherv, 8) X(Alloc_mem, 3) X(Allreduce, 6) \
	X(Alltoall, 7) X(Alltoallv, 9) X(Alltoallw, 9) X(Attr_delete, 2) X(Attr_get, 4) \
	X(Attr_put, 3) X(Barrier, 1) X(Bcast, 5) X(Bsend, 6) X(Bsend_init, 7) \
	X(Buffer_attach, 2) X(Buffer_detach, 2) X(Cancel, 1) X(Cart_coords, 4) \
	X(Cart_create, 6) X(Cart_get, 5) X(Cart_map, 5) X(Cart_rank, 3) X(Cart_shift, 5) \
	X(Cart_sub, 3) X(Cartdim_get, 2) X(Close_port, 1) X(Comm_accept, 5) \
	X(Comm_call_errhandler, 2) X(Comm_compare, 3) X(Comm_connect, 5) X(Comm_create, 3) \
	X(Comm_create_errhandler, 2) X(Comm_create_group, 4) X(Comm_create_keyval, 4) \
	X(Comm_delete_attr, 2) X(Comm_disconnect, 1) X(Comm_dup, 2) X(Comm_dup_with_info, 3) \
	X(Comm_free, 1) X(Comm_free_keyval, 1) X(Comm_get_attr, 4) X(Comm_get_errhandler, 2) \
	X(Comm_get_info, 2) X(Comm_get_name, 3) X(Comm_get_parent, 1) X(Comm_group, 2) \
	X(Comm_idup, 3) X(Comm_join, 2) X(Comm_rank, 2) X(Comm_remote_group, 2) \
	X(Comm_remote_size, 2) X(Comm_set_attr, 3) X(Comm_set_errhandler, 2) \
	X(Comm_set_info, 2) X(Comm_set_name, 2) X(Comm_size, 2) X(Comm_spawn, 8) \
	X(Comm_spawn_multiple, 9) X(Comm_split, 4) X(Comm_split_type, 5) X(Comm_test_inter, 2) \
	X(Compare_and_swap, 7) X(Dims_create, 3) X(Dist_graph_create, 9) \
	X(Dist_graph_create_adjacent, 10) X(Dist_graph_neighbors, 7) \
	X(Dist_graph_neighbors_count, 4) X(Errhandler_free, 1) X(Error_class, 2) \
	X(Error_string, 3) X(Exscan, 6) X(Fetch_and_op, 7) X(File_c2f, 1) \
	X(File_call_errhandler, 2) X(File_close, 1) X(File_create_errhandler, 2) \
	X(File_delete, 2) X(File_f2c, 1) X(File_get_amode, 2) X(File_get_atomicity, 2) \
	X(File_get_byte_offset, 3) X(File_get_errhandler, 2) X(File_get_group, 2) \
	X(File_get_info, 2) X(File_get_position, 2) X(File_get_position_shared, 2) \
	X(File_get_size, 2) X(File_get_type_extent, 3) X(File_get_view, 5) X(File_iread, 5) \
	X(File_iread_all, 5) X(File_iread_at, 6) X(File_iread_at_all, 6) \
	X(File_iread_shared, 5) X(File_iwrite, 5) X(File_iwrite_all, 5) X(File_iwrite_at, 6) \
	X(File_iwrite_at_all, 6) X(File_iwrite_shared, 5) X(File_open, 5) \
	X(File_preallocate, 2) X(File_read, 5) X(File_read_all, 5) X(File_read_all_begin, 4) \
	X(File_read_all_end, 3) X(File_read_at, 6) X(File_read_at_all, 6) \
	X(File_read_at_all_begin, 5) X(File_read_at_all_end, 3) X(File_read_ordered, 5) \
	X(File_read_ordered_begin, 4) X(File_read_ordered_end, 3) X(File_read_shared, 5) \
	X(File_seek, 3) X(File_seek_shared, 3) X(File_set_atomicity, 2) \
	X(File_set_errhandler, 2) X(File_set_info, 2) X(File_set_size, 2) X(File_set_view, 6) \
	X(File_sync, 1) X(File_write, 5) X(File_write_all, 5) X(File_write_all_begin, 4) \
	X(File_write_all_end, 3) X(File_write_at, 6) X(File_write_at_all, 6) \
	X(File_write_at_all_begin, 5) X(File_write_at_all_end, 3) X(File_write_ordered, 5) \
	X(File_write_ordered_begin, 4) X(File_write_ordered_end, 3) X(File_write_shared, 5) \
	X(Finalize, 0) X(Finalized, 1) X(Free_mem, 1) X(Gather, 8) X(Gatherv, 9) X(Get, 8) \
	X(Get_accumulate, 12) X(Get_address, 2) X(Get_count, 3) X(Get_elements, 3) \
	X(Get_elements_x, 3) X(Get_library_version, 2) X(Get_processor_name, 2) \
	X(Get_version, 2) X(Graph_create, 6) X(Graph_get, 5) X(Graph_map, 5) \
	X(Graph_neighbors, 4) X(Graph_neighbors_count, 3) X(Graphdims_get, 3) \
	X(Grequest_complete, 1) X(Grequest_start, 5) X(Group_compare, 3) X(Group_difference, 3) \
	X(Group_excl, 4) X(Group_free, 1) X(Group_incl, 4) X(Group_intersection, 3) \
	X(Group_range_excl, 4) X(Group_range_incl, 4) X(Group_rank, 2) X(Group_size, 2) \
	X(Group_translate_ranks, 5) X(Group_union, 3) X(Iallgather, 8) X(Iallgatherv, 9) \
	X(Iallreduce, 7) X(Ialltoall, 8) X(Ialltoallv, 10) X(Ialltoallw, 10) X(Ibarrier, 2) \
	X(Ibcast, 6) X(Ibsend, 7) X(Iexscan, 7) X(Igather, 9) X(Igatherv, 10) X(Improbe, 6) \
	X(Imrecv, 5) X(Ineighbor_allgather, 8) X(Ineighbor_allgatherv, 9) \
	X(Ineighbor_alltoall, 8) X(Ineighbor_alltoallv, 10) X(Ineighbor_alltoallw, 10) \
	X(Info_create, 1) X(Info_delete, 2) X(Info_dup, 2) X(Info_free, 1) X(Info_get, 5) \
	X(Info_get_nkeys, 2) X(Info_get_nthkey, 3) X(Info_get_valuelen, 4) X(Info_set, 3) \
	X(Init, 2) X(Init_thread, 4) X(Initialized, 1) X(Intercomm_create, 6) \
	X(Intercomm_merge, 3) X(Iprobe, 5) X(Irecv, 7) X(Ireduce, 8) X(Ireduce_scatter, 7) \
	X(Ireduce_scatter_block, 7) X(Irsend, 7) X(Is_thread_main, 1) X(Iscan, 7) \
	X(Iscatter, 9) X(Iscatterv, 10) X(Isend, 7) X(Issend, 7) X(Keyval_create, 4) \
	X(Keyval_free, 1) X(Lookup_name, 3) X(Mprobe, 5) X(Mrecv, 5) X(Neighbor_allgather, 7) \
	X(Neighbor_allgatherv, 8) X(Neighbor_alltoall, 7) X(Neighbor_alltoallv, 9) \
	X(Neighbor_alltoallw, 9) X(Op_commutative, 2) X(Op_create, 3) X(Op_free, 1) \
	X(Open_port, 2) X(Pack, 7) X(Pack_external, 7) X(Pack_external_size, 4) X(Pack_size, 4) \
	X(Probe, 4) X(Publish_name, 3) X(Put, 8) X(Query_thread, 1) X(Raccumulate, 10) \
	X(Recv, 7) X(Recv_init, 7) X(Reduce, 7) X(Reduce_local, 5) X(Reduce_scatter, 6) \
	X(Reduce_scatter_block, 6) X(Register_datarep, 5) X(Request_free, 1) \
	X(Request_get_status, 3) X(Rget, 9) X(Rget_accumulate, 13) X(Rput, 9) X(Rsend, 6) \
	X(Rsend_init, 7) X(Scan, 6) X(Scatter, 8) X(Scatterv, 9) X(Send, 6) X(Send_init, 7) \
	X(Sendrecv, 12) X(Sendrecv_replace, 9) X(Ssend, 6) X(Ssend_init, 7) X(Start, 1) \
	X(Startall, 2) X(Status_c2f, 2) X(Status_f2c, 2) X(Status_set_cancelled, 2) \
	X(Status_set_elements, 3) X(Status_set_elements_x, 3) X(Test, 3) X(Test_cancelled, 2) \
	X(Testall, 4) X(Testany, 5) X(Testsome, 5) X(Topo_test, 2) X(Type_commit, 1) \
	X(Type_contiguous, 3) X(Type_create_darray, 10) X(Type_create_f90_complex, 3) \
	X(Type_create_f90_integer, 2) X(Type_create_f90_real, 3) X(Type_create_hindexed, 5) \
	X(Type_create_hindexed_block, 5) X(Type_create_hvector, 5) \
	X(Type_create_indexed_block, 5) X(Type_create_keyval, 4) X(Type_create_resized, 4) \
	X(Type_create_struct, 5) X(Type_create_subarray, 7) X(Type_delete_attr, 2) \
	X(Type_dup, 2) X(Type_free, 1) X(Type_free_keyval, 1) X(Type_get_attr, 4) \
	X(Type_get_contents, 7) X(Type_get_envelope, 5) X(Type_get_extent, 3) \
	X(Type_get_extent_x, 3) X(Type_get_name, 3) X(Type_get_true_extent, 3) \
	X(Type_get_true_extent_x, 3) X(Type_indexed, 5) X(Type_match_size, 3) \
	X(Type_set_attr, 3) X(Type_set_name, 2) X(Type_size, 2) X(Type_size_x, 2) \
	X(Type_vector, 5) X(Unpack, 7) X(Unpack_external, 7) X(Unpublish_name, 3) X(Wait, 2) \
	X(Waitall, 3) X(Waitany, 4) X(Waitsome, 5) X(Win_allocate, 6) X(Win_allocate_shared, 6) \
	X(Win_attach, 3) X(Win_call_errhandler, 2) X(Win_complete, 1) X(Win_create, 6) \
	X(Win_create_dynamic, 3) X(Win_create_errhandler, 2) X(Win_create_keyval, 4) \
	X(Win_delete_attr, 2) X(Win_detach, 2) X(Win_fence, 2) X(Win_flush, 2) \
	X(Win_flush_all, 1) X(Win_flush_local, 2) X(Win_flush_local_all, 1) X(Win_free, 1) \
	X(Win_free_keyval, 1) X(Win_get_attr, 4) X(Win_get_errhandler, 2) X(Win_get_group, 2) \
	X(Win_get_info, 2) X(Win_get_name, 3) X(Win_lock, 4) X(Win_lock_all, 2) X(Win_post, 3) \
	X(Win_set_attr, 3) X(Win_set_errhandler, 2) X(Win_set_info, 2) X(Win_set_name, 2) \
	X(Win_shared_query, 5) X(Win_start, 3) X(Win_sync, 1) X(Win_test, 2) X(Win_unlock, 2) \
	X(Win_unlock_all, 1) X(Win_wait, 1) X(Wtick, 0) X(Wtime, 0)

#define MPI_FORTRAN_FUNCTIONS(X) \
	X(abort, 2) X(accumulate, 9) X(add_error_class, 1) X(add_error_code, 2) \
	X(add_error_string, 2) X(allgather, 7) X(allgatherv, 8) X(alloc_mem, 3) X(allreduce, 6) \
	X(alltoall, 7) X(alltoallv, 9) X(alltoallw, 9) X(attr_delete, 2) X(attr_get, 4) \
	X(attr_put, 3) X(barrier, 1) X(bcast, 5) X(bsend, 6) X(bsend_init, 7) \
	X(buffer_attach, 2) X(buffer_detach, 2) X(cancel, 1) X(cart_coords, 4) \
	X(cart_create, 6) X(cart_get, 5) X(cart_map, 5) X(cart_rank, 3) X(cart_shift, 5) \
	X(cart_sub, 3) X(cartdim_get, 2) X(close_port, 1) X(comm_accept, 5) \
	X(comm_call_errhandler, 2) X(comm_compare, 3) X(comm_connect, 5) X(comm_create, 3) \
	X(comm_create_errhandler, 2) X(comm_create_group, 4) X(comm_create_keyval, 4) \
	X(comm_delete_attr, 2) X(comm_disconnect, 1) X(comm_dup, 2) X(comm_dup_with_info, 3) \
	X(comm_free, 1) X(comm_free_keyval, 1) X(comm_get_attr, 4) X(comm_get_errhandler, 2) \
	X(comm_get_info, 2) X(comm_get_name, 3) X(comm_get_parent, 1) X(comm_group, 2) \
	X(comm_idup, 3) X(comm_join, 2) X(comm_rank, 2) X(comm_remote_group, 2) \
	X(comm_remote_size, 2) X(comm_set_attr, 3) X(comm_set_errhandler, 2) \
	X(comm_set_info, 2) X(comm_set_name, 2) X(comm_size, 2) X(comm_spawn, 8) \
	X(comm_spawn_multiple, 9) X(comm_split, 4) X(comm_split_type, 5) X(comm_test_inter, 2) \
	X(compare_and_swap, 7) X(dims_create, 3) X(dist_graph_create, 9) \
	X(dist_graph_create_adjacent, 10) X(dist_graph_neighbors, 7) \
	X(dist_graph_neighbors_count, 4) X(errhandler_free, 1) X(error_class, 2) \
	X(error_string, 3) X(exscan, 6) X(fetch_and_op, 7) X(file_call_errhandler, 2) \
	X(file_close, 1) X(file_create_errhandler, 2) X(file_delete, 2) X(file_get_amode, 2) \
	X(file_get_atomicity, 2) X(file_get_byte_offset, 3) X(file_get_errhandler, 2) \
	X(file_get_group, 2) X(file_get_info, 2) X(file_get_position, 2) \
	X(file_get_position_shared, 2) X(file_get_size, 2) X(file_get_type_extent, 3) \
	X(file_get_view, 5) X(file_iread, 5) X(file_iread_all, 5) X(file_iread_at, 6) \
	X(file_iread_at_all, 6) X(file_iread_shared, 5) X(file_iwrite, 5) X(file_iwrite_all, 5) \
	X(file_iwrite_at, 6) X(file_iwrite_at_all, 6) X(file_iwrite_shared, 5) X(file_open, 5) \
	X(file_preallocate, 2) X(file_read, 5) X(file_read_all, 5) X(file_read_all_begin, 4) \
	X(file_read_all_end, 3) X(file_read_at, 6) X(file_read_at_all, 6) \
	X(file_read_at_all_begin, 5) X(file_read_at_all_end, 3) X(file_read_ordered, 5) \
	X(file_read_ordered_begin, 4) X(file_read_ordered_end, 3) X(file_read_shared, 5) \
	X(file_seek, 3) X(file_seek_shared, 3) X(file_set_atomicity, 2) \
	X(file_set_errhandler, 2) X(file_set_info, 2) X(file_set_size, 2) X(file_set_view, 6) \
	X(file_sync, 1) X(file_write, 5) X(file_write_all, 5) X(file_write_all_begin, 4) \
	X(file_write_all_end, 3) X(file_write_at, 6) X(file_write_at_all, 6) \
	X(file_write_at_all_begin, 5) X(file_write_at_all_end, 3) X(file_write_ordered, 5) \
	X(file_write_ordered_begin, 4) X(file_write_ordered_end, 3) X(file_write_shared, 5) \
	X(finalize, 0) X(finalized, 1) X(free_mem, 1) X(gather, 8) X(gatherv, 9) X(get, 8) \
	X(get_accumulate, 12) X(get_address, 2) X(get_count, 3) X(get_elements, 3) \
	X(get_elements_x, 3) X(get_library_version, 2) X(get_processor_name, 2) \
	X(get_version, 2) X(graph_create, 6) X(graph_get, 5) X(graph_map, 5) \
	X(graph_neighbors, 4) X(graph_neighbors_count, 3) X(graphdims_get, 3) \
	X(grequest_complete, 1) X(grequest_start, 5) X(group_compare, 3) X(group_difference, 3) \
	X(group_excl, 4) X(group_free, 1) X(group_incl, 4) X(group_intersection, 3) \
	X(group_range_excl, 4) X(group_range_incl, 4) X(group_rank, 2) X(group_size, 2) \
	X(group_translate_ranks, 5) X(group_union, 3) X(iallgather, 8) X(iallgatherv, 9) \
	X(iallreduce, 7) X(ialltoall, 8) X(ialltoallv, 10) X(ialltoallw, 10) X(ibarrier, 2) \
	X(ibcast, 6) X(ibsend, 7) X(iexscan, 7) X(igather, 9) X(igatherv, 10) X(improbe, 6) \
	X(imrecv, 5) X(ineighbor_allgather, 8) X(ineighbor_allgatherv, 9) \
	X(ineighbor_alltoall, 8) X(ineighbor_alltoallv, 10) X(ineighbor_alltoallw, 10) \
	X(info_create, 1) X(info_delete, 2) X(info_dup, 2) X(info_free, 1) X(info_get, 5) \
	X(info_get_nkeys, 2) X(info_get_nthkey, 3) X(info_get_valuelen, 4) X(info_set, 3) \
	X(init, 2) X(init_thread, 4) X(initialized, 1) X(intercomm_create, 6) \
	X(intercomm_merge, 3) X(iprobe, 5) X(irecv, 7) X(ireduce, 8) X(ireduce_scatter, 7) \
	X(ireduce_scatter_block, 7) X(irsend, 7) X(is_thread_main, 1) X(iscan, 7) \
	X(iscatter, 9) X(iscatterv, 10) X(isend, 7) X(issend, 7) X(keyval_create, 4) \
	X(keyval_free, 1) X(lookup_name, 3) X(mprobe, 5) X(mrecv, 5) X(neighbor_allgather, 7) \
	X(neighbor_allgatherv, 8) X(neighbor_alltoall, 7) X(neighbor_alltoallv, 9) \
	X(neighbor_alltoallw, 9) X(op_commutative, 2) X(op_create, 3) X(op_free, 1) \
	X(open_port, 2) X(pack, 7) X(pack_external, 7) X(pack_external_size, 4) X(pack_size, 4) \
	X(probe, 4) X(publish_name, 3) X(put, 8) X(query_thread, 1) X(raccumulate, 10) \
	X(recv, 7) X(recv_init, 7) X(reduce, 7) X(reduce_local, 5) X(reduce_scatter, 6) \
	X(reduce_scatter_block, 6) X(register_datarep, 5) X(request_free, 1) \
	X(request_get_status, 3) X(rget, 9) X(rget_accumulate, 13) X(rput, 9) X(rsend, 6) \
	X(rsend_init, 7) X(scan, 6) X(scatter, 8) X(scatterv, 9) X(send, 6) X(send_init, 7) \
	X(sendrecv, 12) X(sendrecv_replace, 9) X(ssend, 6) X(ssend_init, 7) X(start, 1) \
	X(startall, 2) X(status_set_cancelled, 2) X(status_set_elements, 3) \
	X(status_set_elements_x, 3) X(test, 3) X(test_cancelled, 2) X(testall, 4) X(testany, 5) \
	X(testsome, 5) X(topo_test, 2) X(type_commit, 1) X(type_contiguous, 3) \
	X(type_create_darray, 10) X(type_create_f90_complex, 3) X(type_create_f90_integer, 2) \
	X(type_create_f90_real, 3) X(type_create_hindexed, 5) X(type_create_hindexed_block, 5) \
	X(type_create_hvector, 5) X(type_create_indexed_block, 5) X(type_create_keyval, 4) \
	X(type_create_resized, 4) X(type_create_struct, 5) X(type_create_subarray, 7) \
	X(type_delete_attr, 2) X(type_dup, 2) X(type_free, 1) X(type_free_keyval, 1) \
	X(type_get_attr, 4) X(type_get_contents, 7) X(type_get_envelope, 5) \
	X(type_get_extent, 3) X(type_get_extent_x, 3) X(type_get_name, 3) \
	X(type_get_true_extent, 3) X(type_get_true_extent_x, 3) X(type_indexed, 5) \
	X(type_match_size, 3) X(type_set_attr, 3) X(type_set_name, 2) X(type_size, 2) \
	X(type_size_x, 2) X(type_vector, 5) X(unpack, 7) X(unpack_external, 7) \
	X(unpublish_name, 3) X(wait, 2) X(waitall, 3) X(waitany, 4) X(waitsome, 5) \
	X(win_allocate, 6) X(win_allocate_shared, 6) X(win_attach, 3) X(win_call_errhandler, 2) \
	X(win_complete, 1) X(win_create, 6) X(win_create_dynamic, 3) \
	X(win_create_errhandler, 2) X(win_create_keyval, 4) X(win_delete_attr, 2) \
	X(win_detach, 2) X(win_fence, 2) X(win_flush, 2) X(win_flush_all, 1) \
	X(win_flush_local, 2) X(win_flush_local_all, 1) X(win_free, 1) X(win_free_keyval, 1) \
	X(win_get_attr, 4) X(win_get_errhandler, 2) X(win_get_group, 2) X(win_get_info, 2) \
	X(win_get_name, 3) X(win_lock, 4) X(win_lock_all, 2) X(win_post, 3) X(win_set_attr, 3) \
	X(win_set_errhandler, 2) X(win_set_info, 2) X(win_set_name, 2) X(win_shared_query, 5) \
	X(win_start, 3) X(win_sync, 1) X(win_test, 2) X(win_unlock, 2) X(win_unlock_all, 1) \
	X(win_wait, 1)
/* clang-format on */

/* The arguments of a function for Fortran: beside those of C the result, and the lengths of up to
 * three strings. What a function does not have is copied for nothing. */
#define MPI_FORTRAN_ARGUMENTS(n) ((n) + 4)

/* Y(whole name, number of arguments) */
#define MPI_ALL_FUNCTIONS(Y)                                                                       \
	MPI_C_FUNCTIONS(Y##_C)                                                                     \
	MPI_C_FUNCTIONS(Y##_PROFILED)                                                              \
	MPI_FORTRAN_FUNCTIONS(Y##_FORTRAN)                                                         \
	MPI_FORTRAN_FUNCTIONS(Y##_FORTRAN_2008)                                                    \
	MPI_FORTRAN_FUNCTIONS(Y##_FORTRAN_2008_ARRAYS)

#endif
